#pragma once
// Internal to train/.

#include "belfry/framework/tensor/features.h"
#include "belfry/framework/train/estimator.h"
#include "belfry/framework/train/step/session.h"
#include "belfry/framework/train/training.h"

namespace belfry {

/// The largest batch, of at most `most` rows, with which a training fits into the limits of the
/// session's devices if nothing else is there. `batch`: one of its input_fn. Error: the model
/// cannot be built for that batch.
FittingBatch find_batch_that_fits(Session& session, const RunConfig& config, const Features& batch,
                                  const TrainOptions& options, std::int64_t most);

}  // namespace belfry
