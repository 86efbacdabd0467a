#pragma once
// How large a batch may be, by planning alone.

#include <cstdint>
#include <string>
#include <vector>

#include "belfry/framework/train/run_config.h"

namespace belfry {

/// The largest batch that a training has the memory for, in one way of running it.
struct FittingBatch {
  Precision precision = Precision::f32;
  bool recompute = true;  ///< RunConfig::recompute.automatic
  /// Rows of a batch of the input_fn; one row more does not fit. 0: not even one row a tower does.
  std::int64_t batch = 0;
  bool at_least = false;  ///< as large as was asked for fits, and perhaps more
};

/// See Estimator::batch_that_fits().
struct BatchThatFits {
  std::int64_t batch = 0;          ///< with the RunConfig as it is
  std::vector<FittingBatch> ways;  ///< that one first; then f32 and bf16, with and without
};
/// As a table.
std::string to_string(const BatchThatFits& fits);

}  // namespace belfry
