#pragma once
// Running a piece of graph once: for tests, notebooks-style exploration and host-side uses.
// Training goes through Executable.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "belfry/framework/graph/graph.h"

namespace belfry {

class Executable;
class VariableStore;

struct EvaluateOptions {
  /// false: no rewriting pass but dead code removal, and reference kernels only.
  bool fast = true;
  std::uint64_t seed = 0;  ///< of random ops and of variables' first values
  std::int64_t step = 0;   ///< value of global_step
  std::string device = "cpu";
  /// See KernelOptions. Unlike those of RunConfig: who evaluates a piece of graph by itself mostly
  /// compares numbers.
  bool tf32 = false;
  bool exact_convolutions = true;
};

/// Outputs of one graph, compiled once and evaluated as often as wanted. Used by one thread at a
/// time.
class Evaluator {
 public:
  explicit Evaluator(const std::vector<Tensor>& outputs, EvaluateOptions options = {});
  ~Evaluator();

  /// Inputs are fed by name; variables take their first values unless `inputs` has one of that name
  /// (which then stays). Effects are not run.
  std::vector<Array> operator()(const std::map<std::string, Array>& inputs = {});

 private:
  EvaluateOptions options_;
  std::unique_ptr<VariableStore> variables_;
  std::unique_ptr<Executable> executable_;
};

/// Once: Evaluator(outputs, options)(inputs).
std::vector<Array> evaluate(const std::vector<Tensor>& outputs,
                            const std::map<std::string, Array>& inputs = {},
                            EvaluateOptions options = {});

}  // namespace belfry
