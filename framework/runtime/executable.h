#pragma once
// A plan bound to memory, ready to run.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "belfry/framework/compiler/plan.h"
#include "belfry/framework/runtime/variable_store.h"
#include "belfry/framework/tensor/features.h"

namespace belfry {

/// What a run needs besides its batch.
struct StepState {
  std::uint64_t seed = 0;
  std::int64_t step = 0;       ///< finished steps
  std::int64_t first_row = 0;  ///< global row number of this tower's first row
};

/// A plan with its arena, its input buffers and its variables, all at fixed addresses. run() makes
/// no heap allocation. Used by one thread at a time; `variables` must outlive it.
class Executable {
 public:
  /// Allocates; makes the variables that do not exist yet. Error: the memory does not suffice.
  Executable(std::shared_ptr<const Plan> plan, VariableStore& variables, std::uint64_t seed);
  ~Executable();

  /// Feeds `batch` (an array for each of the plan's inputs, of the very type; more are ignored),
  /// runs, and brings the outputs to the host.
  void run(const Features& batch, const StepState& state);

  /// Whether run() looks at the results of every kernel and throws Error naming the first op that
  /// produced NaN or infinity. Needs a device whose memory the host can read. Slow.
  void check_numerics(bool check) { check_numerics_ = check; }

  /// Value of output i after run(), overwritten by the next one.
  const Array& output(std::size_t i) const { return outputs_[i]; }
  std::size_t output_count() const { return outputs_.size(); }
  const Plan& plan() const { return *plan_; }

 private:
  struct Launch;  // a kernel with its addresses

  void* address(const Location& location) const;
  void feed(const Features& batch, const StepState& state);
  void launch(std::size_t from, std::size_t to);
  void check_results(std::size_t launch) const;

  std::shared_ptr<const Plan> plan_;
  VariableStore& variables_;
  std::unique_ptr<Stream> stream_;
  DeviceMemory arena_;
  std::vector<DeviceMemory> inputs_, constants_;
  std::vector<void*> variable_addresses_;
  std::vector<void*> addresses_;  // of all operands, launch after launch
  std::vector<Launch> launches_;
  std::vector<Array> outputs_;
  bool check_numerics_ = false;
};

}  // namespace belfry
