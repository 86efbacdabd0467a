#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "belfry/framework/tensor/array.h"

namespace belfry {

Shape with_rows(const Shape& shape, std::int64_t rows) {
  std::vector<std::int64_t> sizes{rows};
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  return Shape(sizes);
}

Array stack_rows(std::span<const Array> rows, const TensorType& row) {
  Array out(with_rows(row.shape, std::ssize(rows)), row.dtype);
  auto to = out.raw_bytes().begin();
  for (const Array& from : rows) {
    require(from.type() == row, "stack_rows: a row is ", from.type(), ", expected ", row);
    to = std::ranges::copy(from.raw_bytes(), to).out;
  }
  return out;
}

Array concat_rows(std::span<const Array> parts) {
  require(!parts.empty(), "concat_rows: there are no parts");
  const TensorType& first = parts[0].type();
  std::int64_t rows = 0;
  for (const Array& part : parts) {
    require(part.shape().rank() > 0 && part.dtype() == first.dtype
                && part.shape().with(0, 0) == first.shape.with(0, 0),
            "concat_rows: ", part.type(), " does not go with ", first);
    rows += part.shape()[0];
  }
  Array out(first.shape.with(0, rows), first.dtype);
  auto to = out.raw_bytes().begin();
  for (const Array& part : parts) to = std::ranges::copy(part.raw_bytes(), to).out;
  return out;
}

Array permute(const Array& array, std::span<const std::int64_t> order) {
  std::size_t rank = array.shape().rank();
  std::vector<std::int64_t> axes(rank), strides(rank, 1), sizes(rank), steps(rank), at(rank, 0);
  std::iota(axes.begin(), axes.end(), 0);
  require(std::is_permutation(axes.begin(), axes.end(), order.begin(), order.end()),
          "permute: ", join(order, ", "), " is no order of the ", rank, " axes of ", array.type());
  for (std::size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * array.shape()[i];
  for (std::size_t i = 0; i < rank; ++i) {
    sizes[i] = array.shape()[order[i]];
    steps[i] = strides[order[i]];
  }
  Array out(Shape(std::span<const std::int64_t>(sizes)), array.dtype());
  std::size_t size = size_of(array.dtype());
  const auto* from = static_cast<const std::byte*>(array.raw());
  auto* to = static_cast<std::byte*>(out.raw());
  for (std::int64_t element = 0, offset = 0; element < out.elements(); ++element, to += size) {
    std::memcpy(to, from + offset * size, size);
    for (std::size_t axis = rank; axis-- > 0;) {
      offset += steps[axis];
      if (++at[axis] < sizes[axis]) break;
      offset -= steps[axis] * sizes[axis];
      at[axis] = 0;
    }
  }
  return out;
}

}  // namespace belfry
