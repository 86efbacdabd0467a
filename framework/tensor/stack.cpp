#include "belfry/framework/tensor/stack.h"

#include <algorithm>

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

}  // namespace belfry
