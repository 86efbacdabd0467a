#pragma once
// Numbers beside tensors.

#include <string_view>

#include "belfry/framework/graph/graph.h"

namespace belfry {

/// Whether an element of type `dtype` can be `value`; floats may round it but not overflow.
bool holds(DType dtype, double value);

/// `value` as a scalar constant of the dtype of `like`; Error naming `what` unless it holds it.
Tensor number(Tensor like, double value, std::string_view what);

}  // namespace belfry
