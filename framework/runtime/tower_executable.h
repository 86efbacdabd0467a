#pragma once
// A tower's step, ready to run on its devices side by side.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/runtime/executable.h"
#include "belfry/framework/runtime/mailboxes.h"

namespace belfry {

/// An Executable for each device of a tower's group, and the mailboxes between them. Each device is
/// run by a thread of its own, all in the same step at the same time; the step begins with
/// begin_step() and is over when all of them have returned. A tower of one device is its Executable
/// alone.
class TowerExecutable {
 public:
  /// `variables` and `options` are by device; no options: the default ones. Error: the memory of a
  /// device does not suffice.
  TowerExecutable(std::shared_ptr<const TowerPlan> plan, std::span<VariableStore* const> variables,
                  std::uint64_t seed, std::span<const ExecutableOptions> options = {});

  int device_count() const { return executables_.size(); }

  /// While no device runs, here or on another tower. See Executable::bind().
  void begin_step();
  /// A device's part of the step up to its effects: see Executable.
  void compute(int device, const Features& batch, const StepState& state) {
    at(device).compute(batch, state);
  }
  /// See Executable: a device's whole step, and waiting for it.
  void enqueue(int device, const Features& batch, const StepState& state) {
    at(device).enqueue(batch, state);
  }
  void collect(int device) { at(device).collect(); }
  bool can_run_behind() const { return device_count() == 1 && executables_[0]->can_run_behind(); }
  /// The state of the last step of a tower that can run behind.
  bool was_enqueued() const { return executables_[0]->was_enqueued(); }
  bool under_way() const { return executables_[0]->under_way(); }
  /// A device's effects. Its own compute() is done; those of others may not be.
  void apply(int device) { at(device).apply(); }
  /// Lets the devices that wait for one that threw throw too, until the next step; from any thread.
  void abort(std::string_view reason) noexcept { mailboxes_.abort(reason); }

  /// After a step that failed, when the threads of all devices have returned: waits for what these
  /// still do of it, such as sending to each other's arenas.
  void settle() noexcept;

  /// The step of a tower of one device.
  void run(const Features& batch, const StepState& state);

  void check_numerics(bool check);
  const Array& output(std::size_t i) const {
    const TowerPlan::Output& from = plan_->outputs[i];
    return executables_[from.device]->output(from.index);
  }
  std::size_t output_count() const { return plan_->outputs.size(); }
  StepTimes times() const;  ///< of the last step: the devices' mean
  /// See Executable: adds those of all devices, one after the other.
  void append_trace(int tower, std::vector<TraceEntry>& to) const;
  const TowerPlan& plan() const { return *plan_; }

 private:
  Executable& at(int device) { return *executables_[device]; }

  std::shared_ptr<const TowerPlan> plan_;
  Mailboxes mailboxes_;
  std::vector<std::unique_ptr<Executable>> executables_;
};

}  // namespace belfry
