#pragma once
// A plan bound to memory, ready to run.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/compiler/plan.h"
#include "belfry/framework/runtime/mailboxes.h"
#include "belfry/framework/runtime/staging.h"
#include "belfry/framework/runtime/step_trace.h"
#include "belfry/framework/runtime/variable_store.h"
#include "belfry/framework/tensor/features.h"

namespace belfry {

/// The state that a run needs besides its batch.
struct StepState {
  std::uint64_t seed = 0;
  std::int64_t step = 0;        ///< finished steps
  std::int64_t first_row = 0;   ///< global row number of this tower's first row
  int sub_step = 0;             ///< of a step that has several: each draws other random numbers
  bool draw_as_step_0 = false;  ///< random numbers are those of step 0, whatever the step
  double weight = 1;            ///< this tower's rows / all towers' rows
  bool trace = false;           ///< time each instruction: see Executable::append_trace()
  bool capture = true;          ///< the step may be captured, or replayed
};

/// A tower's place among those that reduce together. Empty: alone.
struct TowerMember {
  Communicator* communicator = nullptr;  ///< must outlive the executable
  int member = 0;                        ///< in the communicator
  int tower = 0;                         ///< among all towers, those of other workers included
};

struct ExecutableOptions {
  TowerMember member = {};
  /// A variable for which there is one of this name with the suffix is read there.
  std::string variable_suffix = {};
  Mailboxes* mailboxes = nullptr;  ///< for a plan that sends or receives; must outlive it
  /// Whether enqueue() may capture the step once and replay it, where device and plan allow it.
  bool capture = true;
};

/// A plan with its variables, ready to run. It computes in the arena of `variables`, with all other
/// executables of that store, and makes it larger where it has to. run() makes no heap allocation,
/// but for the first step that is traced and one before which the arena has grown. Used by one
/// thread at a time, of those of a store one at a time; `variables` must outlive it.
class Executable {
 public:
  /// Allocates; makes the variables that do not exist yet. A plan that sends or receives needs
  /// `mailboxes`, which must outlive the executable. Error: the memory does not suffice.
  Executable(std::shared_ptr<const Plan> plan, VariableStore& variables, std::uint64_t seed,
             ExecutableOptions options = {});
  ~Executable();

  /// Comes before each step of a plan that reduces over towers, while no reduction of theirs is
  /// under way, and of one that sends or receives, while no device of its tower runs, and for all
  /// of them: finds the arena where it is now. If it has grown, the next step but one is captured
  /// anew. Error: the arena's memory is gone.
  void bind();

  /// Feeds `batch` (an array for each of the plan's inputs, of the very type; more are ignored),
  /// runs, and brings the outputs to the host.
  void run(const Features& batch, const StepState& state) {
    compute(batch, state);
    apply();
  }
  /// run() up to the effects: outputs are there, no variable is changed yet.
  void compute(const Features& batch, const StepState& state);
  /// The effects of what compute() computed.
  void apply();

  /// run() without waiting for an asynchronous device; `batch` is read by the time it returns, but
  /// for arrays in pinned memory: handles to them are kept until the step is collected. The second
  /// step of a plan that can be captured is, if it may be, and the later ones are one launch each,
  /// with the same results; one that is traced is neither captured nor replayed. Two steps may be
  /// under way. On other devices it is run().
  void enqueue(const Features& batch, const StepState& state);
  /// Waits for the oldest step under way: outputs and times are its. Does nothing if there is none.
  void collect();
  /// Whether steps of this plan may be under way while the host goes on.
  bool can_run_behind() const { return staging_ != nullptr && !transfers_; }
  bool under_way() const { return staging_ && staging_->under_way() > 0; }
  /// Waits until the device has done all that was enqueued, also of a step that failed.
  void settle() noexcept;
  bool captured() const { return captured_ != nullptr; }
  bool was_enqueued() const { return enqueued_ > 0; }  ///< in a step that was not traced

  /// Whether run() looks at the results of every kernel and throws Error naming the first op that
  /// produced NaN or infinity. Needs a device whose memory the host can read. Slow.
  void check_numerics(bool check) { check_numerics_ = check; }

  /// Value of output i after run() or collect(), overwritten by the next one.
  const Array& output(std::size_t i) const { return outputs_[i]; }
  std::size_t output_count() const { return outputs_.size(); }
  /// The times of the last run.
  const StepTimes& times() const { return times_; }
  /// Adds the instructions of the last step to `to`, in order, as those of this tower and device.
  /// The step was traced, and it is over.
  void append_trace(int tower, int device, std::vector<TraceEntry>& to) const;
  const Plan& plan() const { return *plan_; }

 private:
  struct Launch;  // an instruction with its addresses
  class Range;

  // The source of an input's values.
  struct Feed {
    enum class Kind : std::uint8_t { batch, step, random, weight, tower } kind = Kind::batch;
    std::int64_t first_row = 0;  // random: of its micro-batch in the tower's batch
  };

  void* address(const Location& location) const;
  void begin_step(const StepState& state);
  void feed(const Features& batch, const StepState& state);
  void bind_inputs();
  void make_launches();
  void bind_collective(Launch& start);
  void launch(std::size_t from, std::size_t to);
  void launch_step();
  void fetch_outputs();
  bool can_capture() const;
  void capture();
  void wait_for_step();
  void execute(Launch& launch);
  void finish(Collective& collective);
  void check_results(const Launch& launch) const;

  std::shared_ptr<const Plan> plan_;
  VariableStore& variables_;
  Stream* stream_;
  std::shared_ptr<Arena> arena_;
  std::byte* base_ = nullptr;           // of the arena, when bind() last looked
  Bytes scratch_;                       // that this plan needs there
  std::unique_ptr<Staging> staging_;    // of a staged plan
  std::vector<std::int64_t> input_at_;  // of others: in the arena
  std::vector<DeviceMemory> constants_;
  std::vector<void*> variable_addresses_;
  std::vector<void*> addresses_;  // of all operands, launch after launch
  TowerMember member_;
  Mailboxes* mailboxes_;
  std::vector<Launch> launches_;
  std::vector<Feed> feeds_;  // by input
  StepTimes times_;
  int reductions_under_way_ = 0;
  double reducing_since_ = 0;  // while there are any, and none is being finished
  std::vector<Array> outputs_;
  bool check_numerics_ = false;
  bool transfers_ = false, may_capture_;
  std::int64_t enqueued_ = 0;  // steps that were not traced
  std::unique_ptr<CapturedWork> captured_;
  int spoilt_captures_ = 0;           // in a row
  std::unique_ptr<StepTrace> trace_;  // from the first traced step on
  bool traced_ = false;               // this step is
};

}  // namespace belfry
