#pragma once
// Running a piece of graph once: for tests, notebooks-style exploration and host-side uses.
// Training goes through Executable.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "belfry/framework/graph/graph.h"

namespace belfry {

struct EvaluateOptions {
  /// false: no rewriting pass but dead code removal, and reference kernels only.
  bool fast = true;
  std::uint64_t seed = 0;  ///< of random ops and of variables' first values
  std::int64_t step = 0;   ///< value of global_step
};

/// The values of `outputs`, all of one graph. Inputs are fed by name; variables take their first
/// values unless `inputs` has one of that name. Effects are not run.
std::vector<Array> evaluate(const std::vector<Tensor>& outputs,
                            const std::map<std::string, Array>& inputs = {},
                            EvaluateOptions options = {});

}  // namespace belfry
