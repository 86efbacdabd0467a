#include <utility>

#include "belfry/framework/distribute/workers.h"
#include "belfry/hooks/evaluate/evaluation_hook.h"
#include "belfry/hooks/record/values.h"

namespace belfry::hooks {
namespace {

class BetweenSteps final : public EvaluationHook {
 public:
  using EvaluationHook::EvaluationHook;

  void begin(HookContext& context) override {
    EvaluationHook::begin(context);
    result_is_known_ = !context.config().save_in_background || find_workers()->count() == 1;
    first_step_ = reported_step_ = context.step();
    waiting_ = begins_unjudged(context);
  }

  // Listeners are told on the chief alone, so it passes on the news here. The next step has not
  // begun: unless one is under way, as on a GPU, these are the variables that were saved. Where the
  // chief alone has seen its result, for a checkpoint that was written in the background, all wait
  // for the next one.
  void before_step(StepRequest& request) override {
    if (!schedule_.on_checkpoints()) return;
    HookContext& context = request.context;
    waiting_ |= context.chief_decides(std::exchange(new_checkpoint_, false));
    if (waiting_ && reported_step_ == request.step
        && (result_is_known_ || request.step == first_step_))
      evaluate_if_allowed(context);
  }

  bool needs_result_now(HookContext& context, std::int64_t step) override {
    return settled_ = waiting_ || schedule_.may_be_due(context, step);
  }

  void after_step(const StepResult& result) override {
    HookContext& context = result.context;
    reported_step_ = result.step;
    bool due = schedule_.due(context, result, settled_);
    if (settled_) waiting_ = false;
    if (due && is_finite(result)) evaluate_now(context);
  }

  void end(HookContext& context, Outcome outcome) override {
    failure_.rethrow();
    if (outcome == Outcome::failed) return;
    if (is_stopped(context)) return;
    if (evaluated_step() != context.step()) evaluate_now(context);
    failure_.rethrow();
    if (context.is_chief() && evaluated_step() == context.step()) export_at_end(estimator_);
  }

  void checkpoint_written(HookContext& context, const std::string&, bool is_news) override {
    new_checkpoint_ |= is_news && context.step() != first_step_;
  }

 private:
  void evaluate_if_allowed(HookContext& context) {
    waiting_ = false;
    if (evaluated_step() != context.step() && schedule_.allows(context)) evaluate_now(context);
  }

  void evaluate_now(HookContext& context) {
    if (!is_wanted(context, context.step())) return schedule_.refused(context);
    schedule_.evaluated(context);
    evaluate_live(context);
  }

  std::int64_t first_step_ = -1, reported_step_ = -1;
  bool new_checkpoint_ = false;  // on the chief
  bool waiting_ = false;         // a checkpoint has not been evaluated
  bool settled_ = false;
  bool result_is_known_ = true;  // reported_step_ is the same on all workers
};

}  // namespace

std::shared_ptr<EvaluationHook> evaluation_between_steps(Estimator& estimator, EvalSpec spec) {
  return std::make_shared<BetweenSteps>(estimator, std::move(spec));
}

}  // namespace belfry::hooks
