#include "belfry/hooks/evaluate/validate.h"

#include <utility>

#include "belfry/framework/base/error.h"
#include "belfry/hooks/evaluate/evaluation_hook.h"
#include "belfry/hooks/record/values.h"
#include "belfry/hooks/tensorboard/summaries.h"

namespace belfry::hooks {
namespace {

class Validate final : public EvaluationHook {
 public:
  Validate(Estimator& estimator, EvalSpec spec)
      : EvaluationHook(estimator, std::move(spec), "validate") {
    require(!schedule_.on_checkpoints(),
            "validate: `every` waits for checkpoints, of which a hook "
            "alone hears nothing; set it to steps, a time or epochs, or use train_and_evaluate()");
    require(spec_.devices.empty(),
            "validate: the live variables are evaluated; `devices` are for "
            "train_and_evaluate()");
    require(spec_.exporters.empty(), "validate: `exporters` are for train_and_evaluate()");
  }

  bool needs_result_now(HookContext& context, std::int64_t step) override {
    return settled_ = schedule_.may_be_due(context, step);
  }

  void after_step(const StepResult& result) override {
    HookContext& context = result.context;
    if (!schedule_.due(context, result, settled_) || !is_finite(result)) return;
    if (!is_wanted(context, result.step)) return schedule_.refused(context);
    schedule_.evaluated(context);
    evaluate_live(context);
    keep_best(context, "");
  }

  void end(HookContext&, Outcome) override {
    stop_keeping();
    failure_.rethrow();
  }

 private:
  bool settled_ = false;
};

}  // namespace

std::shared_ptr<Hook> validate(Estimator& estimator, EvalSpec spec) {
  check_evaluation_name("validate", spec.name);
  return std::make_shared<Validate>(estimator, std::move(spec));
}

}  // namespace belfry::hooks
