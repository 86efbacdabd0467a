#include "belfry/framework/runtime/tower_executable.h"

#include "belfry/framework/ops/transfer.h"

namespace belfry {

TowerExecutable::TowerExecutable(std::shared_ptr<const TowerPlan> plan,
                                 std::span<VariableStore* const> variables, std::uint64_t seed,
                                 std::span<const ExecutableOptions> options)
    : plan_(std::move(plan)) {
  for (std::size_t s = 0; s < plan_->plans.size(); ++s)
    for (const Node* receive : plan_->plans[s]->receives) {
      std::size_t from = receive->as<TransferOptions>().from;
      mailboxes_.add(*receive, variables[from]->device());
    }
  for (std::size_t s = 0; s < plan_->plans.size(); ++s) {
    ExecutableOptions own = options.empty() ? ExecutableOptions{} : options[s];
    own.mailboxes = &mailboxes_;
    executables_.push_back(
        std::make_unique<Executable>(plan_->plans[s], *variables[s], seed, std::move(own)));
  }
}

void TowerExecutable::begin_step() {
  mailboxes_.begin_step();
  for (auto& executable : executables_) executable->bind();
}

void TowerExecutable::settle() noexcept {
  for (auto& executable : executables_) executable->settle();
}

void TowerExecutable::run(const Features& batch, const StepState& state) {
  ensure(device_count() == 1, "a tower of ", device_count(), " devices runs on as many threads");
  at(0).run(batch, state);
}

void TowerExecutable::check_numerics(bool check) {
  for (auto& executable : executables_) executable->check_numerics(check);
}

StepTimes TowerExecutable::times() const {
  StepTimes total;
  for (const auto& executable : executables_) total += executable->times();
  return total / executables_.size();
}

void TowerExecutable::append_trace(int tower, std::vector<TraceEntry>& to) const {
  for (int s = 0; s < device_count(); ++s) executables_[s]->append_trace(tower, s, to);
}

}  // namespace belfry
