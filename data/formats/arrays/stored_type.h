#pragma once
// Numbers as files store them, NumPy's and IDX, and what they become. Internal to data/.

#include <cstddef>
#include <span>

#include "belfry/framework/tensor/array.h"

namespace belfry::data {

/// An element type of files: a kind as NumPy names it (f, i, u, b) and a number of bytes, and the
/// type that holds its values.
struct StoredType {
  char kind;
  std::size_t bytes;
  DType dtype;

  /// Values become ones of a wider type.
  bool narrow() const { return bytes < size_of(dtype); }
};

/// Turns the bytes of each element of `size` bytes round: from big-endian, or to it.
void reverse_each(std::span<std::byte> bytes, std::size_t size);

/// Puts little-endian elements of a narrow type into `to`, which has as many of `stored.dtype`.
void widen(const StoredType& stored, std::span<const std::byte> from, Array& to);

}  // namespace belfry::data
