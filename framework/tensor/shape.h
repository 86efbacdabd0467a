#pragma once
// Concrete shapes.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "belfry/framework/tensor/dtype.h"

namespace belfry {

/// The sizes of an array's axes, outermost first; every size is known and at least 0. Rank 0 is a
/// scalar. A value: copying allocates nothing.
class Shape {
 public:
  static constexpr int max_rank = 8;  ///< the most axes that a shape has

  Shape() = default;
  /// Error: rank above 8, negative size, overflow.
  ///@{
  Shape(std::initializer_list<std::int64_t> sizes)
      : Shape(std::span<const std::int64_t>(sizes.begin(), sizes.size())) {}
  explicit Shape(std::span<const std::int64_t> sizes);
  ///@}

  int rank() const { return rank_; }  ///< number of axes
  /// The size of `axis`, 0 <= axis < rank, which is not checked.
  std::int64_t operator[](int axis) const { return sizes_[axis]; }
  std::int64_t elements() const { return elements_; }  ///< product of the sizes; 1 for a scalar
  /// All sizes, in the shape's own memory.
  ///@{
  std::span<const std::int64_t> sizes() const {
    return {sizes_.data(), static_cast<std::size_t>(rank_)};
  }
  const std::int64_t* begin() const { return sizes_.data(); }
  const std::int64_t* end() const { return sizes_.data() + rank_; }
  ///@}

  /// This shape with the size of `axis`, 0 <= axis < rank, replaced.
  Shape with(int axis, std::int64_t size) const;

  /// The same rank and sizes.
  bool operator==(const Shape& other) const {
    if (rank_ != other.rank_) return false;
    for (std::int64_t i = 0; i < rank_; ++i)
      if (sizes_[i] != other.sizes_[i]) return false;
    return true;
  }

 private:
  std::array<std::int64_t, max_rank> sizes_{};
  std::int64_t elements_ = 1;
  int rank_ = 0;
};

std::string to_string(const Shape& shape);  ///< "[2, 3]", "[]"

/// Turns an axis that may count from the end (-1 is the last) into 0 <= axis < rank; Error naming
/// `what` otherwise.
int normalize_axis(int axis, int rank, std::string_view what);

/// NumPy's broadcasting of two shapes; Error naming `what` when a pair of sizes differs and none
/// is 1.
Shape broadcast(const Shape& a, const Shape& b, std::string_view what);

/// The shape and element type of an array.
struct TensorType {
  Shape shape;               ///< by default that of a scalar
  DType dtype = DType::f32;  ///< of each element
  /// Size of all elements.
  std::int64_t bytes() const {
    return shape.elements() * static_cast<std::int64_t>(size_of(dtype));
  }
  bool operator==(const TensorType&) const = default;  ///< the same shape and dtype
};

std::string to_string(const TensorType& type);  ///< "f32[2, 3]"

}  // namespace belfry
