#include "belfry/framework/train/run/hook_list.h"

#include <set>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/train/built_in_hooks.h"
#include "belfry/framework/train/model/loss_scale.h"

namespace belfry {

HookList::HookList(const RunConfig& config, const TrainOptions& options,
                   std::optional<std::int64_t> last)
    : hooks_(options.hooks) {
  if (last) hooks_.push_back(stop_at_step(*last));
  hooks_.push_back(stop_on_non_finite(config.fail_on_non_finite));
  if (config.precision == Precision::f16) hooks_.push_back(watch_loss_scale());
  if (config.log_step_count.count > 0) hooks_.push_back(log_steps(config.log_step_count));
  if (config.save_checkpoint) saver_ = save_checkpoints(*config.save_checkpoint);
  check();
  std::set<const CheckpointListener*> once;
  for (const auto& listener : options.listeners) {
    require(listener != nullptr, "train: a checkpoint listener is null");
    require(once.insert(listener.get()).second,
            "train: a checkpoint listener is given twice, and would hear all twice; give it once");
  }
  require(saver_ || options.listeners.empty(),
          "train: there are checkpoint listeners but RunConfig::save_checkpoint is off");
}

void HookList::check() const {
  std::set<std::string> names;
  std::set<const Hook*> once;
  for (const auto& hook : hooks_) {
    require(hook != nullptr, "train: a hook is null");
    require(once.insert(hook.get()).second, "train: a hook is given twice",
            hook->name().empty() ? "" : concat(": `", hook->name(), "`"));
    std::string name = hook->name();
    require(name.empty() || names.insert(name).second, "train: two hooks are named `", name,
            "`, so their states in a checkpoint could not be told apart");
  }
}

ModelOptions HookList::model_options(const RunConfig& config) const {
  int parts = 1;
  for (const auto& hook : hooks_) {
    int asked = hook->micro_batches();
    if (asked == 1) continue;
    require(asked > 1, "train: a hook asks for ", asked, " micro-batches; at least 1 makes sense");
    require(parts == 1, "train: two hooks ask for micro-batches, ", parts, " and ", asked,
            "; keep one");
    parts = asked;
  }
  return {.micro_batches = parts, .bucket = config.bucket};
}

void HookList::add_last(const Hooks& of_spec) {
  hooks_.insert(hooks_.end(), of_spec.begin(), of_spec.end());
  for (const auto& hook : of_spec)
    require(!hook || hook->micro_batches() == 1,
            "model_fn: a hook of EstimatorSpec::hooks asks for micro-batches, which are cut before "
            "model_fn is called; give it to TrainOptions::hooks");
  if (saver_) hooks_.push_back(saver_);
  check();
}

void HookList::begin(HookContext& context, const std::map<std::string, std::string>& states,
                     const std::string& origin) {
  for (const auto& hook : hooks_) {
    auto state = states.find(hook->name());
    if (hook->name().empty() || state == states.end()) continue;
    with_context(concat("while restoring the state of hook ", hook->name(), " from ", origin),
                 [&] { hook->restore(state->second); });
  }
  restored_ = true;
  for (const auto& hook : hooks_) {
    ++begun_;
    hook->begin(context);
  }
}

std::map<std::string, std::string> HookList::states(
    std::map<std::string, std::string> saved) const {
  if (!restored_) return saved;
  for (const auto& hook : hooks_)
    if (!hook->name().empty()) saved[hook->name()] = hook->state();
  return saved;
}

std::exception_ptr HookList::end(HookContext& context, Outcome outcome) {
  std::exception_ptr first;
  while (begun_ > 0) {
    try {
      hooks_[--begun_]->end(context, outcome);
    } catch (...) {
      std::exception_ptr error = std::current_exception();
      bool reported = first || outcome == Outcome::failed;
      if (reported) log_failure("a hook failed at its end", error);
      if (!first) first = error;
    }
    if (first) outcome = Outcome::failed;
  }
  return first;
}

}  // namespace belfry
