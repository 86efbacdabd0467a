#pragma once
// Auxiliary tasks of discriminators with several logits, of which the first says whether data look
// real. Used by models/gan alone.

#include <functional>
#include <string_view>

#include "belfry/models/gan/losses.h"

namespace belfry::gan {

/// The logits behind the first. Error naming `what` unless they are [n, 1 + count].
Tensor further_logits(std::string_view what, const Tensor& logits, std::int64_t count);

/// `loss` of the first logit, for each network plus what `further` gives for it.
Loss with_further_logits(Loss loss, Loss further);

/// As GanOptions::metrics.
using MetricsFn = std::function<NamedMetrics(const GanModel&, const Batch&)>;
/// Those of both; `second` may be empty.
MetricsFn both(MetricsFn first, MetricsFn second);

}  // namespace belfry::gan
