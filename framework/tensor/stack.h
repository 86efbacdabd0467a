#pragma once
// Examples put together to batches.

#include <span>
#include <vector>

#include "belfry/framework/tensor/array.h"

namespace belfry {

/// [n, ...] from n rows of the type `row`, copied. Error: one is of another type.
Array stack_rows(std::span<const Array> rows, const TensorType& row);

/// [a + b + ..., ...] from parts [a, ...], [b, ...], ... of one type but for their rows, copied.
/// Error: there is no part, or they do not fit together.
Array concat_rows(std::span<const Array> parts);

/// `shape` behind an axis of `rows`.
Shape with_rows(const Shape& shape, std::int64_t rows);

}  // namespace belfry
