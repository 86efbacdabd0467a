#pragma once
// The header of a safetensors file as text and as values. Internal to tensor/.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/tensor/safetensors.h"

namespace belfry::safetensors {

constexpr std::int64_t max_header_bytes = 100'000'000;
constexpr std::size_t max_tensors = 1'000'000;  ///< and as many metadata entries
constexpr std::size_t max_name_bytes = 4096;

/// A tensor and where its bytes start, counted from the start of the data.
struct TensorEntry {
  std::string name;
  TensorType type;
  std::int64_t begin = 0;
};

/// The contents of a header. Invariant: the tensors are in the order of their bytes, and each
/// begins where the one before it ends, the first at 0.
struct Header {
  std::vector<TensorEntry> tensors;
  Metadata metadata;
};

/// Places the tensors as the reference writer does: larger types first, then by name. Error: see
/// save_safetensors().
Header lay_out(const NamedArrays& tensors, const Metadata& metadata);

/// The JSON text, without padding. Equal headers give equal texts.
std::string to_json(const Header& header);

/// Reads and checks a header that `data_bytes` bytes of data follow. Error: see load_safetensors();
/// byte offsets in its text count from the start of the file.
Header parse(std::string_view json, std::int64_t data_bytes);

/// A name for an error text: in backquotes, without control characters, cut when it is long. Built
/// only when the text is.
struct Quoted {
  std::string_view name;
};
inline Quoted quote(std::string_view name) { return {name}; }
std::string to_string(const Quoted& quoted);

}  // namespace belfry::safetensors
