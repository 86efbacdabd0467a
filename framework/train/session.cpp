#include "belfry/framework/train/session.h"

#include <algorithm>

namespace belfry {

Session::Session(ModelFn model_fn, const RunConfig& config)
    : model_fn_(std::move(model_fn)),
      check_numerics_(config.check_numerics),
      strategy_(make_strategy(config.devices)),
      device_(strategy_.towers[0].devices[0]),
      variables_(device_),
      seed_(config.seed) {
  device_->set_threads(config.threads);
  if (config.memory_limit.count > 0) device_->set_memory_limit(config.memory_limit);
}

void Session::restore(Checkpoint checkpoint) {
  for (const std::string& name : variables_.names()) {
    auto saved = checkpoint.variables.find(name);
    require(saved != checkpoint.variables.end(), "the checkpoint of step ", checkpoint.step,
            " has no variable `", name, "`");
    variables_.write(name, saved->second);
    checkpoint.variables.erase(saved);
  }
  pending_ = std::move(checkpoint.variables);
  step_ = checkpoint.step;
  seed_ = checkpoint.seed;
  input_position_ = std::move(checkpoint.input);
  hook_states_ = std::move(checkpoint.hooks);
  restored_ = has_state_ = true;
}

Checkpoint Session::snapshot() const {
  Checkpoint out;
  out.variables = pending_;
  for (const std::string& name : variables_.names()) out.variables[name] = variables_.read(name);
  out.step = step_;
  out.seed = seed_;
  out.input = input_position_;
  out.hooks = hook_states_;
  return out;
}

void Session::leave_off(std::string input_position,
                        std::map<std::string, std::string> hook_states) {
  input_position_ = std::move(input_position);
  hook_states_ = std::move(hook_states);
}

const std::shared_ptr<CompiledModel>& Session::compiled(Mode mode, const Features& batch) {
  for (const auto& entry : cache_)
    if (entry->model->mode() == mode && matches(batch, entry->model->signature())) return entry;
  auto entry = std::make_shared<CompiledModel>();
  entry->model = std::make_unique<Model>(model_fn_, mode, signature_of(batch), Hooks{});
  entry->executable = make_executable(entry->model->compile(*device_));
  return cache_.emplace_back(std::move(entry));
}

void Session::take_from_checkpoint(const VariableOptions& options) {
  auto saved = pending_.find(options.name);
  require(saved != pending_.end(), "the checkpoint of step ", step_, " has no variable `",
          options.name,
          "`, which the model asks for; use another model_dir, or undo the change to the model");
  variables_.get_or_create(options, seed_);
  variables_.write(options.name, saved->second);
  pending_.erase(saved);
}

void Session::check_memory(const Plan& plan) const {
  std::int64_t new_variables = 0;
  for (const Node* v : plan.variables)
    if (!variables_.contains(v->as<VariableOptions>().name)) new_variables += v->output().bytes();
  std::int64_t needed =
      plan.arena_bytes + plan.input_bytes() + plan.constant_bytes() + new_variables;
  std::int64_t free = device_->memory_limit().count - device_->memory_in_use().count;
  if (needed <= free) return;
  std::string report = explain(plan);
  fail("the step needs ", bytes_text(needed), " more on ", device_->name(), " but ",
       bytes_text(free), " of ", bytes_text(device_->memory_limit().count),
       " are free; use a smaller batch\n", report.substr(report.find("memory: ")));
}

std::unique_ptr<Executable> Session::make_executable(std::shared_ptr<const Plan> plan) {
  check_memory(*plan);
  if (restored_)
    for (const Node* v : plan->variables)
      if (!variables_.contains(v->as<VariableOptions>().name))
        take_from_checkpoint(v->as<VariableOptions>());
  has_state_ = true;
  auto executable = std::make_unique<Executable>(std::move(plan), variables_, seed_);
  executable->check_numerics(check_numerics_);
  return executable;
}

}  // namespace belfry
