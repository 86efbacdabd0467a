#include "belfry/hooks/evaluate/train_and_evaluate.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "belfry/framework/base/error.h"
#include "belfry/framework/distribute/workers.h"
#include "belfry/framework/train/checkpoint.h"
#include "belfry/framework/train/run/outside_stop.h"
#include "belfry/hooks/evaluate/evaluation_hook.h"
#include "belfry/hooks/tensorboard/summaries.h"

namespace belfry {
namespace {

// Keeps the best checkpoints of all specs when all have seen the step, and tells them of each
// checkpoint that is written. Its hooks stand before and behind theirs. Used by the
// training thread.
class BestSaves final : public CheckpointListener {
 public:
  explicit BestSaves(std::vector<std::shared_ptr<hooks::EvaluationHook>> hooks)
      : hooks_(std::move(hooks)) {}

  // All have seen this step.
  void seen(std::int64_t step) { seen_step_ = step; }
  // Between two steps.
  void before_step(HookContext& context) { keep(context); }
  // After the end of all.
  void end(HookContext& context);

  void before_save(HookContext& context) override;
  void after_save(HookContext& context, const std::string& path) override;

 private:
  // Whether it has saved a checkpoint.
  bool keep(HookContext& context);
  std::int64_t judged() const;

  std::vector<std::shared_ptr<hooks::EvaluationHook>> hooks_;
  std::int64_t seen_step_ = -1;
  bool is_news_ = true;  // what is saved now, to those who evaluate checkpoints
  // On the chief: of a checkpoint, its step if all had seen that (else -1), and for how many
  // evaluations it knows what came of them.
  struct Save {
    std::int64_t step = -1, judged = 0;
    bool is_news = true;
  };
  Save begun_, saved_;
};

std::int64_t BestSaves::judged() const {
  std::int64_t count = 0;
  for (const auto& hook : hooks_) count += hook->judged();
  return count;
}

// A checkpoint of this very state, as the saver has written one at the last step, is not written
// again.
bool BestSaves::keep(HookContext& context) {
  if (std::ranges::none_of(hooks_, [](const auto& hook) { return hook->may_be_best(); }))
    return false;
  bool is_saved = context.chief_decides(saved_.step == context.step() && saved_.judged == judged());
  std::string path = checkpoint_path(context.model_dir(), context.step()), saved;
  if (is_saved) saved = path;
  is_news_ = false;
  for (const auto& hook : hooks_)
    if (hook->keep_best(context, saved)) saved = path;
  is_news_ = true;
  return !is_saved && !saved.empty();
}

// The saver, which has ended already, knew nothing of the evaluations at the end.
void BestSaves::end(HookContext& context) {
  if (keep(context) || !context.config().save_checkpoint
      || !context.chief_decides(saved_.judged != judged()))
    return;
  is_news_ = false;
  context.save_checkpoint();
  is_news_ = true;
}

void BestSaves::before_save(HookContext& context) {
  begun_ = {.step = seen_step_ == context.step() ? seen_step_ : -1,
            .judged = judged(),
            .is_news = is_news_};
}

void BestSaves::after_save(HookContext& context, const std::string& path) {
  saved_ = std::exchange(begun_, {});
  for (const auto& hook : hooks_) hook->checkpoint_written(context, path, saved_.is_news);
}

// Hooks end in reversed order.
struct First final : Hook {
  explicit First(std::shared_ptr<BestSaves> s) : saves(std::move(s)) {}
  void end(HookContext& context, Outcome outcome) override {
    if (outcome != Outcome::failed) saves->end(context);
  }
  std::shared_ptr<BestSaves> saves;
};

struct Last final : Hook {
  explicit Last(std::shared_ptr<BestSaves> s) : saves(std::move(s)) {}
  void before_step(StepRequest& request) override { saves->before_step(request.context); }
  void after_step(const StepResult& result) override { saves->seen(result.step); }
  std::shared_ptr<BestSaves> saves;
};

// The hooks of the specs with those of `saves` around them.
Hooks with_best_saves(const std::vector<std::shared_ptr<hooks::EvaluationHook>>& hooks,
                      const std::shared_ptr<BestSaves>& saves) {
  Hooks all{std::make_shared<First>(saves)};
  all.insert(all.end(), hooks.begin(), hooks.end());
  all.push_back(std::make_shared<Last>(saves));
  return all;
}

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
    result.signal = outside.signal();
    if (result.signal != 0 && config.throw_on_signals)
      throw Interrupted(concat("train_and_evaluate: ", result.reason), result.signal);
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
  auto saves = std::make_shared<BestSaves>(hooks);
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
