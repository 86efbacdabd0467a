#pragma once
// Moving averages of the variables that are trained.

#include <memory>
#include <string>
#include <vector>

#include "belfry/framework/optimizers/optimizers.h"
#include "belfry/framework/train/hook.h"

namespace belfry::hooks {

struct MovingAverageOptions {
  double decay = 0.999;  ///< in [0, 1); about the last 1 / (1 - decay) updates count
  bool warm_up = false;  ///< after n updates of the average, decay is at most (1 + n) / (10 + n)
  std::vector<std::string> patterns = {};  ///< regular expressions (ECMAScript) for whole names of
                                           ///< variables; empty: all
};

/// Keeps an exponential moving average of each variable that an update changes, as the update
/// leaves it, in `<variable>/moving_average` (belfry::add_moving_averages() tells all about it).
/// Frozen variables have none. Averages are saved in checkpoints; only those of updates that are
/// applied move. Error: the decay is outside [0, 1), a pattern is no regular expression; when
/// training begins, a pattern that matches no variable of any update, or a variable that two
/// updates change.
std::shared_ptr<Hook> moving_average(MovingAverageOptions options = {});

}  // namespace belfry::hooks
