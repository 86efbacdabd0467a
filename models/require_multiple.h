#pragma once
// The check of an image's size by networks that make images smaller.

#include <cstdint>
#include <string_view>

#include "belfry/framework/framework.h"

namespace belfry::models {

/// Error of `model` unless all axes of x [n, ..., c] between the first and the last are multiples
/// of `unit`, and not 0; `why` goes on "..., as ".
void require_multiple(const Scope& s, std::string_view model, const Tensor& x, std::int64_t unit,
                      std::string_view why);

}  // namespace belfry::models
