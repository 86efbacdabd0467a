// One worker of a job: evaluate_worker WHAT MODEL_DIR. What it has found is in
// MODEL_DIR.found_<rank>, what went wrong in MODEL_DIR.error_<rank>.

#include <fstream>

#include "../../workflow_testing.h"
#include "belfry/framework/distribute/workers.h"

namespace belfry {
namespace {

// "distance" is |w x - 7|.
EstimatorSpec model(Scope s, const Batch& batch, Mode mode) {
  EstimatorSpec spec = passing_seven(s, batch, mode);
  Tensor w = s.shared().variable("w", {.initializer = constant_value(8)});
  spec.metrics = {{"distance", mean_metric(abs(w * batch["x"] - 7))}};
  return spec;
}

// Evaluates x = 1 on the chief and x = 3 elsewhere, and counts how often.
InputFn counted(int& calls) {
  return [&calls](const InputContext& context) -> InputStreamPtr {
    ++calls;
    float x = context.pipeline == 0 ? 1 : 3;
    return std::make_unique<Batches>(std::vector{one_point(x)}, false);
  };
}

RunConfig saving_every_tenth() {
  RunConfig run = saving_every(10);
  run.batch = BatchPolicy::per_worker;
  run.threads = 1;
  run.reduction_timeout = std::chrono::seconds(10);
  return run;
}

void train(const std::string& dir, std::ostream& found) {
  Estimator estimator({.model_fn = model, .model_dir = dir, .run = saving_every_tenth()});
  int each_step = 0, checkpoints = 0, hours = 0;
  auto result = train_and_evaluate(estimator, {over_and_over({one_point()}), {.max_steps = 100}},
                                   {{.name = "steps",
                                     .input_fn = counted(each_step),
                                     .every = Steps(1),
                                     .metric = "distance",
                                     .early_stopping = {.patience = 3},
                                     .keep_best = 2},
                                    {.name = "checkpoints", .input_fn = counted(checkpoints)},
                                    {.name = "hours",
                                     .input_fn = counted(hours),
                                     .every = std::chrono::hours(1),
                                     .throttle = std::chrono::hours(1)}});
  found << result.train.reason << "; " << result.train.global_step << "; "
        << result.best.at("steps").step << ": " << result.best.at("steps").value << "; "
        << each_step << ", " << checkpoints << ", " << hours;
}

// The checkpoint of step 10 was never evaluated.
void go_on(const std::string& dir, std::ostream& found) {
  RunConfig run = saving_every_tenth();
  InputFn input = over_and_over({one_point()});
  Estimator({.model_fn = model, .model_dir = dir, .run = run}).train(input, {.max_steps = 10});
  run.save_in_background = true;
  Estimator estimator({.model_fn = model, .model_dir = dir, .run = run});
  int calls = 0;
  std::vector<std::int64_t> steps;
  train_and_evaluate(estimator, {input, {.max_steps = 12}},
                     {{.input_fn = counted(calls),
                       .receive = [&](std::int64_t step, const auto&) { steps.push_back(step); }}});
  found << calls << " at " << join(steps, " ");
}

void stop(const std::string& dir, std::ostream& found) {
  Estimator estimator({.model_fn = model, .model_dir = dir, .run = saving_every_tenth()});
  std::stop_source stop;
  found << error_of([&] { estimator.evaluate(once({one_point()}), {.stop = stop.get_token()}); });
}

}  // namespace
}  // namespace belfry

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::string what = argv[1], dir = argv[2], rank;
  try {
    rank = belfry::text(belfry::find_workers()->rank());
    std::ofstream found(dir + ".found_" + rank);
    if (what == "train") belfry::train(dir, found);
    if (what == "go_on") belfry::go_on(dir, found);
    if (what == "stop") belfry::stop(dir, found);
  } catch (const std::exception& error) {
    std::ofstream(dir + ".error_" + rank) << error.what();
    return 1;
  }
}
