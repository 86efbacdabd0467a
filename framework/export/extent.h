#pragma once
// Numbers of a saved graph, which may follow the batch.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/tensor/shape.h"

namespace belfry::saved {

/// A whole number that is known but for the rows n of the batch: fixed + per_row * n.
struct Extent {
  std::int64_t fixed = 0;
  std::int64_t per_row = 0;

  bool follows_batch() const { return per_row != 0; }
  std::int64_t at(std::int64_t rows) const;  ///< Error: beyond 64 bits
  bool operator==(const Extent&) const = default;
};

std::string to_string(const Extent& extent);  ///< "28", "n", "49*n", "2*n+1", "-1*n+5"
/// Inverse of to_string; Error if it is none.
Extent extent_from_string(std::string_view text);

/// The type of a tensor whose sizes may follow the batch.
struct Type {
  std::vector<Extent> sizes;
  DType dtype = DType::f32;

  TensorType at(std::int64_t rows) const;  ///< Error: a negative size, more than 8 axes
  bool follows_batch() const;
  bool operator==(const Type&) const = default;
};

std::string to_string(const Type& type);  ///< "f32[n, 28, 28, 1]"
/// Inverse of to_string; Error if it is none.
Type type_from_string(std::string_view text);

}  // namespace belfry::saved
