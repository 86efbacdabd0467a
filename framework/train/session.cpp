#include "belfry/framework/train/session.h"

#include <algorithm>

namespace belfry {

Session::Session(ModelFn model_fn, const RunConfig& config)
    : model_fn_(std::move(model_fn)),
      check_numerics_(config.check_numerics),
      strategy_(make_strategy(config.devices)),
      device_(strategy_.towers[0].devices[0]),
      variables_(device_),
      seed_(config.seed),
      threads_(config.threads) {
  if (config.memory_limit.count > 0) device_->set_memory_limit(config.memory_limit);
}

namespace {

constexpr const char* model_changed = "; use another model_dir, or undo the change to the model";

const Array& find_variable(const NamedArrays& saved, const VariableOptions& wanted,
                           std::int64_t step) {
  auto found = saved.find(wanted.name);
  require(found != saved.end(), "the checkpoint of step ", step, " has no variable `", wanted.name,
          "`, which the model asks for", model_changed);
  require(found->second.type() == wanted.type, "the checkpoint of step ", step, " has variable `",
          wanted.name, "` as ", found->second.type(), " but the model asks for ", wanted.type,
          model_changed);
  return found->second;
}

}  // namespace

// All is checked before anything changes.
std::shared_ptr<const Plan> Session::compile(const Model& model, std::uint64_t chosen) const {
  return model.compile(*device_, threads_, chosen);
}

void Session::restore(Checkpoint checkpoint) {
  for (const std::string& name : variables_.names())
    find_variable(checkpoint.variables, variables_.options(name), checkpoint.step);
  for (const std::string& name : variables_.names()) {
    auto saved = checkpoint.variables.find(name);
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
  entry->executable = make_executable(compile(*entry->model), *entry->model);
  return cache_.emplace_back(std::move(entry));
}

void Session::take_from_checkpoint(const VariableOptions& options) {
  const Array& saved = find_variable(pending_, options, step_);
  variables_.get_or_create(options, seed_);
  variables_.write(options.name, saved);
  pending_.erase(options.name);
}

Bytes Session::bytes_needed(const Plan& plan) const {
  std::int64_t needed = plan.arena_bytes + plan.input_bytes() + plan.constant_bytes();
  for (const Node* v : plan.variables)
    if (!variables_.contains(v->as<VariableOptions>().name)) needed += v->output().bytes();
  return Bytes(needed);
}

// Rows of the largest batch whose plan fits; 0 when not even one row does. Gradient hooks are left
// out: they were made for the real step.
std::int64_t Session::largest_batch(const Model& model, Bytes free) const {
  auto fits = [&](std::int64_t rows) {
    Signature smaller = model.signature();
    for (auto& [name, type] : smaller)
      if (type.shape.rank() > 0 && type.shape[0] == model.rows())
        type.shape = type.shape.with(0, rows);
    try {
      Model scaled(model_fn_, model.mode(), std::move(smaller), {});
      return bytes_needed(*compile(scaled)).count <= free.count;
    } catch (const Error&) {  // a model that wants a certain batch
      return false;
    }
  };
  std::int64_t low = 0, high = model.rows();  // low fits, high does not
  while (high - low > 1) {
    std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

void Session::check_memory(const Plan& plan, const Model& model) const {
  Bytes needed = bytes_needed(plan);
  Bytes free(device_->memory_limit().count - device_->memory_in_use().count);
  if (needed.count <= free.count) return;
  std::int64_t rows = largest_batch(model, free);
  std::string report = explain(plan);
  fail("the step needs ", bytes_text(needed.count), " on ", device_->name(), " but ",
       bytes_text(free.count), " of ", bytes_text(device_->memory_limit().count), " are free; ",
       rows > 0 ? concat("a batch of ", rows, " instead of ", model.rows(), " would fit")
                : "not even a batch of 1 would fit",
       "\n", report.substr(report.find("memory: ")));
}

std::unique_ptr<Executable> Session::make_executable(std::shared_ptr<const Plan> plan,
                                                     const Model& model) {
  check_memory(*plan, model);
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
