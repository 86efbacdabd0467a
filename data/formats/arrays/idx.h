#pragma once
// IDX, the file format of MNIST and its kin: http://yann.lecun.com/exdb/mnist.

#include <cstddef>
#include <span>
#include <string>

#include "belfry/framework/tensor/array.h"

namespace belfry::data {

/// Reads an IDX file, gzipped or not: an array of the shape that its header states. The header is
/// two zero bytes, the element type, the rank, then one big-endian 32-bit size an axis; the
/// elements follow, row-major and big-endian, and nothing after them. Types are 0x08 unsigned
/// bytes, which become u8; 0x09 signed bytes, 0x0b and 0x0c integers of 16 and 32 bits, which
/// become i32; 0x0d floats, f32; 0x0e doubles, f64. Memory grows with what the file holds, not with
/// what its header claims. Error naming the file and the offset (in the uncompressed data): no such
/// file, damaged gzip data, a wrong header, too few or too many bytes.
Array read_idx(const std::string& path);

/// As read_idx(), from the bytes of such a file; `name` stands for the path in messages.
Array parse_idx(std::span<const std::byte> bytes, const std::string& name = "IDX bytes");

}  // namespace belfry::data
