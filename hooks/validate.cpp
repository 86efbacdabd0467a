#include "belfry/hooks/validate.h"

#include "belfry/framework/base/error.h"
#include "belfry/hooks/live_variables.h"
#include "belfry/hooks/workflow/evaluation_hook.h"
#include "belfry/hooks/write_evaluation.h"

namespace belfry::hooks {
namespace {

class Validate final : public EvaluationHook {
 public:
  Validate(Estimator& estimator, EvalSpec spec)
      : EvaluationHook(estimator, std::move(spec), "validate") {}

  bool needs_result_now(HookContext& context, std::int64_t step) override {
    return schedule_.may_be_due(context, step);
  }

  void after_step(const StepResult& result) override {
    HookContext& context = result.context;
    if (!needs_result_now(context, result.step) || !is_finite(result)) return;
    if (!is_wanted(context, result.step)) return;
    evaluate_live(context);
    keep_best(context, "");
  }

  void end(HookContext&, Outcome) override {
    stop_keeping();
    failure_.rethrow();
  }
};

}  // namespace

std::shared_ptr<Hook> validate(Estimator& estimator, InputFn input_fn, ValidateOptions o) {
  check_evaluation_name("validate", o.name);
  require(o.evaluate.checkpoint.empty(),
          "validate: the live variables are evaluated, not the checkpoint ", o.evaluate.checkpoint);
  require(!o.evaluate.stop.stop_possible(),
          "validate: evaluate.stop is for Estimator::evaluate(); set evaluate.steps");
  EvalSpec spec{.name = o.name,
                .input_fn = std::move(input_fn),
                .every = o.every,
                .steps = o.evaluate.steps,
                .averaged = o.evaluate.averaged,
                .metric = o.metric,
                .better = o.better,
                .early_stopping = {.patience = o.patience,
                                   .min_change = o.min_change,
                                   .min_steps = o.min_steps,
                                   .target = o.target},
                .keep_best = o.keep_best,
                .wanted = o.wanted,
                .receive = o.receive};
  return std::make_shared<Validate>(estimator, std::move(spec));
}

}  // namespace belfry::hooks
