#include "belfry/hooks/validate.h"

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/log.h"
#include "belfry/hooks/best_checkpoints.h"
#include "belfry/hooks/live_variables.h"

namespace belfry::hooks {
namespace {

// How errors and the reason of a stop name it.
std::string owner_of(const ValidateOptions& o) {
  return o.name.empty() ? "validate" : concat("validate `", o.name, "`");
}

class Validate final : public Hook {
 public:
  Validate(Estimator& estimator, InputFn input_fn, ValidateOptions options)
      : estimator_(estimator),
        input_fn_(std::move(input_fn)),
        o_(std::move(options)),
        best_(owner_of(o_), o_.metric, o_.better,
              {.patience = o_.patience, .min_change = o_.min_change, .min_steps = o_.min_steps}) {}

  void begin(HookContext& context) override {
    if (o_.keep_best > 0 && context.is_chief())
      kept_.emplace(context, o_.name, best_, o_.better, o_.keep_best, o_.min_change);
    stop_without_patience(context, context.step());
  }

  bool needs_result_now(HookContext& context, std::int64_t step) override {
    return has_turn(context, step, o_.every);
  }

  void after_step(const StepResult& result) override {
    if (!needs_result_now(result.context, result.step) || !is_finite(result)) return;
    EvalResult results = estimator_.evaluate(input_fn_, o_.evaluate);
    if (o_.receive && result.context.is_chief()) o_.receive(result.step, results);
    double value = results.at(o_.metric);
    bool others = best_.is_known(), better = best_.take(value, result.step);
    if (result.context.is_chief())
      log_info("step ", result.step, ": evaluated ", o_.name.empty() ? "" : o_.name + ": ",
               results_text(results), better || !others ? "" : concat("; ", best_.text()));
    keep(result.context, value, result.step);
    stop_without_patience(result.context, result.step);
  }

  void end(HookContext&, Outcome) override { kept_.reset(); }

  std::string name() const override {
    return concat("validate/", o_.metric, o_.name.empty() ? "" : "/", o_.name);
  }
  std::string state() const override { return best_.state(); }
  void restore(const std::string& state) override { best_.restore(state); }

 private:
  void keep(HookContext& context, double value, std::int64_t step) {
    if (o_.keep_best == 0 || !context.chief_decides(kept_ && kept_->takes(value, step))) return;
    std::string checkpoint = context.save_checkpoint();
    if (kept_) kept_->keep(checkpoint, value, step);
  }

  void stop_without_patience(HookContext& context, std::int64_t step) const {
    if (auto reason = best_.reason_to_stop(step)) context.request_stop(*reason);
  }

  Estimator& estimator_;
  InputFn input_fn_;
  ValidateOptions o_;
  BestValue best_;
  std::optional<BestCheckpoints> kept_;  // of a training, on the chief, if any are kept
};

}  // namespace

std::shared_ptr<Hook> validate(Estimator& estimator, InputFn input_fn, ValidateOptions options) {
  check_every("validate", options.every);
  require(options.keep_best >= 0, "validate: keep_best must be at least 0, got ",
          options.keep_best);
  require(options.name.find('/') == std::string::npos, "validate: `", options.name,
          "` is no name; use one without slashes");
  require(options.evaluate.checkpoint.empty(),
          "validate: the live variables are evaluated, not the checkpoint ",
          options.evaluate.checkpoint);
  return std::make_shared<Validate>(estimator, std::move(input_fn), std::move(options));
}

}  // namespace belfry::hooks
