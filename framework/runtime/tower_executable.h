#pragma once
// A tower's step, ready to run on its device slots side by side.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "belfry/framework/runtime/executable.h"
#include "belfry/framework/runtime/mailboxes.h"

namespace belfry {

/// An Executable for each slot of a tower's group, and the mailboxes between them. Each slot is run
/// by a thread of its own, all in the same step at the same time; the step begins with begin_step()
/// and is over when all of them have returned. A tower of one slot is its Executable alone.
class TowerExecutable {
 public:
  /// `variables` and `options` are by slot; no options: the default ones. Error: the memory of a
  /// device does not suffice.
  TowerExecutable(std::shared_ptr<const TowerPlan> plan, std::span<VariableStore* const> variables,
                  std::uint64_t seed, std::span<const ExecutableOptions> options = {});

  int slots() const { return slots_.size(); }

  /// While no slot runs, here or on another tower. See Executable::bind().
  void begin_step();
  /// A slot's part of the step up to its effects: see Executable.
  void compute(int slot, const Features& batch, const StepState& state) {
    at(slot).compute(batch, state);
  }
  /// See Executable: a slot's whole step, and waiting for it.
  void enqueue(int slot, const Features& batch, const StepState& state) {
    at(slot).enqueue(batch, state);
  }
  void collect(int slot) { at(slot).collect(); }
  bool can_run_behind() const { return slots() == 1 && slots_[0]->can_run_behind(); }
  /// The state of the last step of a tower that can run behind.
  bool was_enqueued() const { return slots_[0]->was_enqueued(); }
  bool under_way() const { return slots_[0]->under_way(); }
  /// A slot's effects. Its own compute() is done; those of others may not be.
  void apply(int slot) { at(slot).apply(); }
  /// Lets the slots that wait for one that threw throw too, until the next step; from any thread.
  void abort(const std::string& reason) { mailboxes_.abort(reason); }

  /// After a step that failed, when all slots have returned: waits for what their devices still do
  /// of it, such as sending to each other's arenas.
  void settle() noexcept;

  /// The step of a tower of one slot.
  void run(const Features& batch, const StepState& state);

  void check_numerics(bool check);
  const Array& output(std::size_t i) const {
    const TowerPlan::Output& place = plan_->outputs[i];
    return slots_[place.slot]->output(place.index);
  }
  std::size_t output_count() const { return plan_->outputs.size(); }
  StepTimes times() const;  ///< of the last step: the slots' mean
  /// See Executable: adds those of all slots, one after the other.
  void append_trace(int tower, std::vector<TraceEntry>& to) const;
  const TowerPlan& plan() const { return *plan_; }

 private:
  Executable& at(int slot) { return *slots_[slot]; }

  std::shared_ptr<const TowerPlan> plan_;
  Mailboxes mailboxes_;
  std::vector<std::unique_ptr<Executable>> slots_;
};

}  // namespace belfry
