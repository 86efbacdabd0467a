#include "belfry/framework/tensor/shape.h"

#include <algorithm>
#include <limits>

namespace belfry {

Shape::Shape(std::span<const std::int64_t> sizes) {
  require(sizes.size() <= max_rank, "shape of rank ", sizes.size(), ": the highest rank is ",
          max_rank);
  rank_ = sizes.size();
  bool empty = false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    require(sizes[i] >= 0, "shape: axis ", i, " has the negative size ", sizes[i]);
    // Strides are products of the other sizes, so those of an empty shape have to fit as well.
    require(sizes[i] <= std::numeric_limits<std::int64_t>::max() / 16 / elements_, "shape: [",
            join(sizes, ", "), "]: more elements than a 64-bit count of bytes can hold");
    sizes_[i] = sizes[i];
    empty = empty || sizes[i] == 0;
    elements_ *= std::max<std::int64_t>(sizes[i], 1);
  }
  if (empty) elements_ = 0;
}

Shape Shape::with(int axis, std::int64_t size) const {
  require(axis >= 0 && axis < rank_, "shape: axis ", axis, " is outside ", *this);
  auto sizes = sizes_;
  sizes[axis] = size;
  return Shape(std::span<const std::int64_t>(sizes.data(), static_cast<std::size_t>(rank_)));
}

std::string to_string(const Shape& shape) { return "[" + join(shape, ", ") + "]"; }

int normalize_axis(int axis, int rank, std::string_view what) {
  require(axis >= -rank && axis < rank, what, ": axis ", axis, " is outside a tensor of rank ",
          rank);
  return axis < 0 ? axis + rank : axis;
}

Shape broadcast(const Shape& a, const Shape& b, std::string_view what) {
  int rank = std::max(a.rank(), b.rank());
  std::array<std::int64_t, Shape::max_rank> sizes{};
  for (int i = 0; i < rank; ++i) {
    std::int64_t m = i < rank - a.rank() ? 1 : a[i - (rank - a.rank())];
    std::int64_t n = i < rank - b.rank() ? 1 : b[i - (rank - b.rank())];
    require(m == n || m == 1 || n == 1, what, ": shapes ", a, " and ", b,
            " cannot be broadcast together: sizes ", m, " and ", n, " differ");
    sizes[i] = m == 1 ? n : m;
  }
  return Shape(std::span<const std::int64_t>(sizes.data(), static_cast<std::size_t>(rank)));
}

std::string to_string(const TensorType& type) {
  return to_string(type.dtype) + to_string(type.shape);
}

}  // namespace belfry
