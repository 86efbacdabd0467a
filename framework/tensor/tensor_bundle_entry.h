#pragma once
// Keys and values of a tensor bundle's index. Internal to tensor/. Source of the messages and their
// numbers: tensorflow/core/protobuf/tensor_bundle.proto.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/tensor/array.h"

namespace belfry::tensor_bundle {

/// Where a part of a tensor begins along each axis, and its size there.
struct Slice {
  std::vector<std::int64_t> start, length;  ///< length -1: all of the axis
};

/// BundleEntryProto: where a tensor is, or which slices it is cut into.
struct Entry {
  std::int64_t type = 0;  ///< TensorFlow's number
  std::vector<std::int64_t> shape;
  std::int64_t shard = 0, offset = 0, bytes = 0;
  std::uint32_t checksum = 0;
  std::vector<Slice> slices;
};

/// Error: these are no such message; a number in it is negative.
Entry parse_entry(std::string_view message);
std::string to_message(const Entry& entry);

/// BundleHeaderProto, the value of the empty key. Error: no such message, or of a big-endian
/// machine.
std::int64_t parse_shard_count(std::string_view message);
std::string header_message();  ///< of one shard

/// The key under which a slice of a tensor is: numbers and text such that keys sort as what they
/// stand for (tensorflow/core/lib/strings/ordered_code.h).
std::string slice_key(std::string_view name, const Slice& slice);
/// Whether a key is of that kind.
inline bool is_slice_key(std::string_view key) { return key.starts_with('\0'); }

/// The type that TensorFlow gives this number, if it is one of ours; and its name.
std::optional<DType> dtype_of_number(std::int64_t type);
std::int64_t number_of(DType dtype);
std::string type_name(std::int64_t type);

}  // namespace belfry::tensor_bundle
