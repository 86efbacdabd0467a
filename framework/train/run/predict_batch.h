#pragma once
// One batch's predictions. Internal to train/.

#include "belfry/framework/train/predictions.h"

namespace belfry {

/// The predictions that `options` names, as arrays of their own; waits for its turn. The batch is
/// the one after `first_row` rows.
Features predict_batch(Session& session, const Features& batch, const PredictOptions& options,
                       std::int64_t first_row = 0);

}  // namespace belfry
