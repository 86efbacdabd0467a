#include "belfry/hooks/workflow/train_and_evaluate.h"

#include <set>

#include "belfry/framework/base/error.h"
#include "belfry/framework/distribute/workers.h"
#include "belfry/framework/train/run/outside_stop.h"
#include "belfry/hooks/workflow/best_saves.h"
#include "belfry/hooks/write_evaluation.h"

namespace belfry {
namespace {

void check_names(const std::vector<EvalSpec>& evaluations) {
  std::set<std::string> names, exporters;
  for (const EvalSpec& spec : evaluations) {
    hooks::check_evaluation_name("train_and_evaluate", spec.name);
    require(names.insert(spec.name).second, "train_and_evaluate: there are two evaluations named `",
            spec.name, "`; EvalSpec::name tells their results apart");
    for (const auto& exporter : spec.exporters) {
      require(exporter, "train_and_evaluate: an exporter of evaluation `", spec.name, "` is null");
      require(exporters.insert(exporter->name()).second,
              "train_and_evaluate: there are two exporters named `", exporter->name(),
              "`, which would share a folder; give one of them another name");
    }
  }
}

void check_checkpoints(const RunConfig& config, const std::vector<EvalSpec>& evaluations) {
  if (config.save_checkpoint) return;
  for (const EvalSpec& spec : evaluations)
    require(spec.devices.empty() && !std::holds_alternative<NewCheckpoint>(spec.every),
            "train_and_evaluate: evaluation `", spec.name, "` waits for checkpoints, but ",
            "RunConfig::save_checkpoint is off; set EvalSpec::every to steps, seconds or epochs, "
            "and no EvalSpec::devices");
}

// The evaluations hear whatever would stop a training.
void evaluate_without_training(const RunConfig& config, const TrainOptions& options,
                               const std::vector<std::shared_ptr<hooks::EvaluationHook>>& hooks,
                               TrainResult& result) {
  OutsideStop outside(*find_workers(), config, options);
  for (const auto& hook : hooks) {
    if (hook->has_evaluated() || hook->evaluate_without_training(outside.token())) continue;
    result.outcome = Outcome::stopped;
    result.reason = outside.reason().value_or("another worker asked for it");
    return;
  }
}

}  // namespace

TrainAndEvaluateResult train_and_evaluate(Estimator& estimator, const TrainSpec& train,
                                          const std::vector<EvalSpec>& evaluations) {
  check_names(evaluations);
  check_checkpoints(estimator.config(), evaluations);
  std::vector<std::shared_ptr<hooks::EvaluationHook>> hooks;
  TrainOptions options = train.options;
  for (const EvalSpec& spec : evaluations) {
    hooks.push_back(spec.devices.empty() ? hooks::evaluation_between_steps(estimator, spec)
                                         : hooks::evaluation_beside_training(estimator, spec));
  }
  auto saves = std::make_shared<hooks::BestSaves>(hooks);
  Hooks with_saves = with_best_saves(hooks, saves);
  options.hooks.insert(options.hooks.end(), with_saves.begin(), with_saves.end());
  if (estimator.config().save_checkpoint) options.listeners.push_back(saves);
  TrainAndEvaluateResult result;
  result.train = estimator.train(train.input_fn, options);
  if (result.train.outcome == Outcome::finished && result.train.steps == 0)
    evaluate_without_training(estimator.config(), options, hooks, result.train);
  for (const auto& hook : hooks) hook->report(result);
  return result;
}

}  // namespace belfry
