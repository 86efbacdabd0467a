#include "belfry/framework/base/log.h"
#include "belfry/framework/train/step/session.h"

namespace belfry {

WarmStartPlan Session::plan_warm_start(const Model& model) {
  if (!warm_source_) warm_source_ = load_weights(warm_start_->from);
  return belfry::plan_warm_start(*warm_start_, *warm_source_, model.variables(), seed_,
                                 model.mode() == Mode::train);
}

std::string Session::describe_warm_start(const Model& model) {
  return warm_start_ ? to_string(plan_warm_start(model)) : "";
}

// A model that evaluates or predicts may lack variables that one has which trains: only after that
// one is there nothing left to take.
void Session::take_warm_values(const Model& model) {
  if (!warm_start_ || !warm_modes_.insert(model.mode()).second) return;
  WarmStartPlan plan = plan_warm_start(model);
  std::string table = to_string(plan);
  table.pop_back();  // the last end of line
  if (workers_->is_chief()) log_info(table);
  warm_values_ = std::move(plan.values);
  if (model.mode() == Mode::train) end_warm_start();
}

void Session::end_warm_start() {
  warm_start_.reset();
  warm_source_.reset();
}

}  // namespace belfry
