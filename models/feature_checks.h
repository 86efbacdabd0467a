#pragma once
// Checks of a batch's values while a step runs. Internal to models/.

#include <string>
#include <string_view>

#include "belfry/framework/framework.h"
#include "belfry/framework/ops/check_range.h"

namespace belfry::models {

/// The feature x as check_range() has it. The check stands beside what x is compared with, on its
/// device, and errors name its scope and `feature`.
Tensor checked_beside(const Tensor& compared, std::string_view feature, Tensor x, double lowest,
                      double highest, const CheckRangeOptions& options);

struct CheckedLengthsOptions {
  std::string_view model;  ///< as errors name it
  std::string lengths;     ///< feature [n]
  std::string of;          ///< feature [n, t, ...] whose rows have those lengths
};
/// The feature with lengths, as it is, placed in `s`. Error: it is not [n]; when the step runs, a
/// length outside 0..t.
Tensor checked_lengths(const Scope& s, const Batch& batch, const CheckedLengthsOptions& options);

}  // namespace belfry::models
