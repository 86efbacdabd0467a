#include "belfry/framework/runtime/tower_executable.h"

#include "belfry/framework/ops/transfer.h"

namespace belfry {

TowerExecutable::TowerExecutable(std::shared_ptr<const TowerPlan> plan,
                                 std::span<VariableStore* const> variables, std::uint64_t seed,
                                 std::span<const ExecutableOptions> options)
    : plan_(std::move(plan)) {
  for (std::size_t s = 0; s < plan_->slots.size(); ++s)
    for (const Node* receive : plan_->slots[s]->receives) {
      std::size_t from = receive->as<TransferOptions>().from;
      mailboxes_.add(*receive, variables[from]->device());
    }
  for (std::size_t s = 0; s < plan_->slots.size(); ++s) {
    ExecutableOptions own = options.empty() ? ExecutableOptions{} : options[s];
    own.mailboxes = &mailboxes_;
    slots_.push_back(
        std::make_unique<Executable>(plan_->slots[s], *variables[s], seed, std::move(own)));
  }
}

void TowerExecutable::begin_step() {
  mailboxes_.begin_step();
  for (auto& slot : slots_) slot->bind();
}

void TowerExecutable::settle() noexcept {
  for (auto& slot : slots_) slot->settle();
}

void TowerExecutable::run(const Features& batch, const StepState& state) {
  ensure(slots() == 1, "a tower of ", slots(), " slots runs on as many threads");
  at(0).run(batch, state);
}

void TowerExecutable::check_numerics(bool check) {
  for (auto& slot : slots_) slot->check_numerics(check);
}

StepTimes TowerExecutable::times() const {
  StepTimes total;
  for (const auto& slot : slots_) total += slot->times();
  return total / slots_.size();
}

void TowerExecutable::append_trace(int tower, std::vector<TraceEntry>& to) const {
  for (int s = 0; s < slots(); ++s) slots_[s]->append_trace(tower, s, to);
}

}  // namespace belfry
