#pragma once
// Common parts of the GANs: auxiliary tasks of discriminators with several logits, of which the
// first says whether data look real; losses and metrics. Used by models/gan alone.

#include <functional>
#include <string_view>

#include "belfry/models/gan/losses.h"

namespace belfry::gan {

/// The logits behind the first. Error naming `what` unless they are [n, 1 + count].
Tensor further_logits(std::string_view what, const Tensor& logits, std::int64_t count);

/// Error naming `what` unless both functions of the loss are set.
void require_set(std::string_view what, const Loss& loss);

/// `loss` of the first logit, for each network plus what `further` gives for it. Error: one
/// of them is not set.
Loss with_further_logits(Loss loss, Loss further);

/// The mean of `mean`, which is one over the rows of a batch, over those of an evaluation.
Metric mean_over_rows(Tensor mean, std::int64_t rows);

/// As GanOptions::metrics.
using MetricsFn = std::function<NamedMetrics(const GanModel&, const Batch&)>;
/// The metrics of both; `second` may be empty.
MetricsFn both(MetricsFn first, MetricsFn second);

}  // namespace belfry::gan
