#pragma once

#include <cstdint>
#include <span>

#include "belfry/framework/tensor/array.h"

namespace belfry {

/// Axis i of the result is axis order[i] of the array; the elements are copied. Error: `order` is
/// no permutation of the axes.
Array permute(const Array& array, std::span<const std::int64_t> order);

}  // namespace belfry
