#pragma once
// Steps that would spoil the variables are left out.

#include <cstdint>
#include <memory>

#include "belfry/framework/train/hook.h"

namespace belfry::hooks {

struct SkipNonFiniteOptions {
  std::int64_t max_consecutive = 10;  ///< skipped steps in a row that are borne; at least 1
};

/// An update whose gradients, as they are where this hook stands in the list, are not all finite
/// changes nothing in that step: neither variables nor slots. All towers decide alike, as they look
/// at the same averaged gradients. It belongs before hooks that hide infinities (clip_by_value) and
/// after those that choose updates in before_step. What the forward pass changes, such as the
/// moving statistics of batch_norm, is held back where it is not finite itself. global_step counts
/// the step.
///
/// Each skipped step is logged as a warning with the number of those so far. A step counts as
/// skipped when the update was chosen but not applied (StepResult::applied), also where another
/// hook's condition was the cause. So with Precision::f16 the ordinary overflows count, by which
/// the loss scale is found: up to 15 in a row at the beginning, more than max_consecutive bears.
/// Precision::f16 leaves such steps out without this hook. Error: max_consecutive below 1; during
/// training, naming the update, one skipped step more in a row than max_consecutive.
std::shared_ptr<Hook> skip_non_finite(SkipNonFiniteOptions options = {});

}  // namespace belfry::hooks
