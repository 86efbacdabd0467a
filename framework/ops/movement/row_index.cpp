#include "belfry/framework/ops/movement/row_index.h"

namespace belfry {

RowIndex::RowIndex(std::string_view op, const ArrayView& indices_in, const Shape& x, int axis)
    : indices(indices_in),
      narrow(indices.dtype() == DType::i32),
      size(x[axis]),
      count(indices.elements()) {
  for (int i = 0; i < axis; ++i) outer *= x[i];
  for (int i = axis + 1; i < x.rank(); ++i) inner *= x[i];
  for (std::int64_t i = 0; i < count; ++i) {
    require(size > 0, op, ": index ", at(i), " at position ", i, " into an axis of size 0");
    require(at(i) >= 0 && at(i) < size, op, ": index ", at(i), " at position ", i,
            " is outside 0..", size - 1);
  }
}

}  // namespace belfry
