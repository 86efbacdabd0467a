#pragma once
// What a training run would do, said before it. Internal to train/.

#include <string>

#include "belfry/framework/train/training.h"

namespace belfry {

class Session;

/// See Estimator::plan().
std::string training_plan(Session& session, const RunConfig& config, const InputFn& input_fn,
                          const TrainOptions& options);

}  // namespace belfry
