#include "belfry/framework/train/step/session.h"

#include <algorithm>

#include "belfry/framework/base/log.h"
#include "belfry/framework/optimizers/optimizers.h"

namespace belfry {

Session::Session(ModelFn model_fn, const RunConfig& config, std::optional<WarmStart> warm_start)
    : check_numerics_(config.check_numerics),
      capture_steps_(config.capture_steps),
      towers_(config),
      state_(towers_.strategy(), towers_.range().first, towers_.range().all, config,
             std::move(warm_start)),
      planner_(std::move(model_fn), config, towers_, state_.variables()),
      plans_(config.plans) {}

void Session::require_no_training() const {
  auto turn = turns_.acquire();
  require(!training_,
          "train: this Estimator is training already; finish() or destroy that Training, or use "
          "another Estimator with a model_dir of its own");
}

void Session::begin_training(std::stop_token stop) {
  require_no_training();
  towers_.connect();
  std::erase_if(drivers_, [](const auto& entry) { return entry.first.second; });
  state_.begin_training();
  training_ = true;
  training_stop_ = std::move(stop);
}

void Session::end_training() {
  training_ = false;
  training_stop_ = {};
}

std::stop_token Session::training_stop() const {
  auto turn = turns_.acquire();
  return training_stop_;
}

void Session::listen_to(std::stop_token stop) {
  auto turn = turns_.acquire();
  if (!training_) training_stop_ = std::move(stop);
}

StepDriver& Session::driver(Mode mode, bool averaged) {
  auto turn = turns_.acquire();
  std::set<std::string>& to_come = averages_to_come_[mode];
  auto has_come = [this](const std::string& variable) { return state_.has_average(variable); };
  if (averaged && std::any_of(to_come.begin(), to_come.end(), has_come)) {
    drivers_.erase({mode, averaged});
    to_come.clear();
  }
  auto& entry = drivers_[{mode, averaged}];
  if (!entry) entry = std::make_unique<StepDriver>(*this, mode, ModelOptions{.averaged = averaged});
  return *entry;
}

std::unique_ptr<TowerExecutable> Session::make_executable(std::shared_ptr<const TowerPlan> plan,
                                                          const Model& model, int tower,
                                                          bool averaged) {
  bool trains = model.mode() == Mode::train;
  ensure(!trains || towers_.connected(), "make_executable: begin_training() comes first");
  check(plan, model, tower);
  state_.warm_up(model.variables(), model.mode(), towers_.workers().is_chief());
  std::vector<VariableStore*> stores;
  std::vector<ExecutableOptions> options;
  bool any_average = false;
  for (int device = 0; device < towers_.devices_per_tower(); ++device) {
    for (const Node* v : plan->plans[device]->variables) {
      VariableOptions variable = v->as<VariableOptions>();
      if (averaged && state_.has_average(variable.name)) {
        variable.name += moving_average_suffix;
        variable.kind = VariableKind::slot;
        any_average = true;
      } else if (averaged && state_.has_average(variable.name, false)) {
        averages_to_come_[model.mode()].insert(variable.name);
      }
      state_.make(variable, device, model.mode());
    }
    stores.push_back(&state_.variables().store(tower, device));
    options.push_back({.member = {trains ? towers_.communicator(device) : nullptr, tower,
                                  towers_.range().first + tower},
                       .variable_suffix = averaged ? std::string(moving_average_suffix) : "",
                       .mailboxes = nullptr,
                       .capture = capture_steps_});
  }
  require(any_average || !averaged,
          "there are no moving averages of variables; train with hooks::moving_average()");
  state_.has_state = true;
  auto executable =
      std::make_unique<TowerExecutable>(std::move(plan), stores, state_.seed(), options);
  executable->check_numerics(check_numerics_);
  return executable;
}

void Session::check(const std::shared_ptr<const TowerPlan>& plan, const Model& model, int tower) {
  planner_.make_room(plan, model, tower, plans_);
  check_variables(*plan, model);
}

void Session::check_variables(const TowerPlan& plan, const Model& model) {
  std::set<std::string> used;
  for (const auto& own : plan.plans)
    for (const Node* v : own->variables) used.insert(v->as<VariableOptions>().name);
  auto turn = turns_.acquire();
  state_.check(model.variables(), used, model.mode());
}

}  // namespace belfry
