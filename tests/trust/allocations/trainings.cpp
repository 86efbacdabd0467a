#include "../../framework/train/resuming_model.h"
#include "belfry/hooks/hooks.h"
#include "scenario_kinds.h"

namespace belfry {
namespace {

using Folder = TemporaryFolder;

std::function<std::unique_ptr<Scenario>()> training(TrainingOptions options) {
  return [=] { return std::make_unique<Trains>(options); };
}

std::function<std::unique_ptr<Scenario>()> with_hooks(
    std::function<Hooks(Estimator&, const Folder&)> make) {
  return training({.train = [=](Estimator& estimator, const Folder& folder, TrainOptions options) {
    options.hooks = make(estimator, folder);
    estimator.train(shuffled_digits_of(1), options);
  }});
}

EvalSpec evaluation() { return {.input_fn = shuffled_digits_of(1), .every = Steps(2), .steps = 2}; }

void add_ways_to_train(Scenarios& all) {
  all["train"] = training({});
  TrainingOptions background;
  background.run.save_in_background = true;
  all["train_saving_in_background"] = training(background);
  TrainingOptions towers;
  towers.run.devices = {"cpu:0", "cpu:1"};
  all["train_two_towers"] = training(towers);
  all["train_four_workers"] =
      training({.train = [](Estimator& estimator, const Folder&, const TrainOptions& options) {
        estimator.train(shuffled_digits_of(4), options);
      }});
  TrainingOptions mixed;
  mixed.run.precision = Precision::bf16;
  all["train_bf16"] = training(mixed);
}

void add_updates(Scenarios& all) {
  all["train_with_hooks"] = with_hooks([](Estimator&, const Folder&) {
    return Hooks{hooks::clip_by_global_norm(1), hooks::moving_average({.decay = 0.9}),
                 hooks::accumulate(2),          hooks::skip_non_finite(),
                 hooks::log_values(),           hooks::progress()};
  });
  all["train_editing_gradients"] = with_hooks([](Estimator&, const Folder&) {
    return Hooks{hooks::edit_gradients([](const Gradients& gradients) { return gradients; }),
                 hooks::unscale_gradients(2),
                 hooks::clip_by_value(0.1),
                 hooks::clip_adaptive(),
                 hooks::centralize_gradients(),
                 hooks::gradient_noise(),
                 hooks::freeze({"in/bias"}),
                 hooks::learning_rates({{"out/.*", 2.0}})};
  });
}

void add_records(Scenarios& all) {
  all["train_with_summaries"] = with_hooks([](Estimator&, const Folder&) {
    return Hooks{hooks::summaries({.every = Steps(1), .histograms = Steps(2)})};
  });
  all["train_with_report"] = with_hooks(
      [](Estimator&, const Folder&) { return Hooks{hooks::report({.every = Steps(1)})}; });
  all["train_with_profile"] = with_hooks([](Estimator&, const Folder& folder) {
    return Hooks{hooks::profile({.path = folder / "trace.json", .first_step = 2, .steps = 1}),
                 hooks::log_input(), hooks::plateau(), hooks::watch_range_test()};
  });
}

void add_evaluations(Scenarios& all) {
  all["train_validating"] = with_hooks([](Estimator& estimator, const Folder&) {
    EvalSpec spec = evaluation();
    spec.keep_best = 2;
    spec.early_stopping = {.patience = 9};
    return Hooks{hooks::validate(estimator, spec)};
  });
  all["train_showing_samples"] = with_hooks([](Estimator& estimator, const Folder&) {
    return Hooks{
        hooks::samples(estimator, shuffled_digits_of(1) | data::take(1),
                       {.every = Steps(2), .receive = [](std::int64_t, const Features&) {}})};
  });
  auto with_evaluation = [](const std::function<void(EvalSpec&)>& complete) {
    return training(
        {.train = [=](Estimator& estimator, const Folder&, const TrainOptions& options) {
          EvalSpec spec = evaluation();
          complete(spec);
          train_and_evaluate(estimator, {shuffled_digits_of(1), options}, {spec});
        }});
  };
  all["train_and_evaluate"] = with_evaluation([](EvalSpec& spec) {
    spec.every = NewCheckpoint();
    spec.exporters = {latest_exporter({.model = exports()})};
  });
  all["train_exporting_best"] = with_evaluation([](EvalSpec& spec) {
    spec.exporters = {best_exporter({.model = exports()}), final_exporter({.model = exports()})};
  });
  all["train_evaluating_beside"] =
      with_evaluation([](EvalSpec& spec) { spec.devices = {"cpu:1"}; });
}

}  // namespace

void add_trainings(Scenarios& all) {
  add_ways_to_train(all);
  add_updates(all);
  add_records(all);
  add_evaluations(all);
}

}  // namespace belfry
