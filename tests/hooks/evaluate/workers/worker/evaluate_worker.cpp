// One worker of a job: evaluate_worker WHAT MODEL_DIR. What it has found is in
// MODEL_DIR.found_<rank>, what went wrong in MODEL_DIR.error_<rank>.

#include <signal.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "../../evaluation_testing.h"
#include "belfry/framework/distribute/workers.h"
#include "belfry/hooks/evaluate/samples.h"

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

// Evaluations after every second step are tried out with one point; later ones wait for ever.
InputFn waiting(std::atomic<bool>& waits, bool tried_out) {
  return [&waits, first = tried_out](const InputContext& context) mutable -> InputStreamPtr {
    struct Waits final : InputStream {
      bool next(Features&) override {
        *waits = true;
        wait_for(stop);
        return false;
      }
      std::stop_token stop;
      std::atomic<bool>* waits = nullptr;
    };
    if (std::exchange(first, false))
      return std::make_unique<Batches>(std::vector{one_point()}, false);
    auto stream = std::make_unique<Waits>();
    stream->stop = context.stop;
    stream->waits = &waits;
    return stream;
  };
}

// Worker 1 alone is asked to stop, in the evaluation of step 2, in which it waits. The other may
// hear of it before it comes to wait. `idle`: training has nothing left to do.
void stop_evaluation(const std::string& dir, const std::string& kind, bool asked, bool idle,
                     std::ostream& found) {
  RunConfig run = saving_every_tenth();
  InputFn input = over_and_over({one_point()});
  if (idle)
    Estimator({.model_fn = model, .model_dir = dir, .run = run}).train(input, {.max_steps = 2});
  run.stop_on_signals = true;
  Estimator estimator({.model_fn = model, .model_dir = dir, .run = run});
  TrainControl control;
  std::stop_source source;
  std::atomic<bool> waits = false;
  auto stop = [&] {
    while (!waits) std::this_thread::yield();
    if (kind == "signal") raise(SIGTERM);
    if (kind == "control") control.request_stop("enough");
    if (kind == "token") source.request_stop();
  };
  std::jthread stops;
  if (asked) stops = std::jthread(stop);
  TrainOptions options{
      .max_steps = idle ? 2 : 100, .control = &control, .stop = source.get_token()};
  auto result = train_and_evaluate(estimator, {input, options},
                                   {{.input_fn = waiting(waits, !idle), .every = Steps(2)}});
  found << to_string(result.train.outcome) << " " << result.train.global_step << " "
        << result.evaluations.size();
}

// Who receives and who is asked are so on the chief alone. What they throw after step 2 costs no
// worker a step.
void fail_chief(const std::string& dir, const std::string& what) {
  Estimator estimator({.model_fn = model, .model_dir = dir, .run = saving_every_tenth()});
  EvalSpec spec{.name = "t", .input_fn = once({one_point()}), .every = Steps(2), .keep_best = 1};
  if (what == "receive") spec.receive = [](std::int64_t, const EvalResult&) { fail("no paper"); };
  if (what == "wanted") spec.wanted = [](std::int64_t) -> bool { fail("no answer"); };
  Hooks hooks;
  if (what == "samples") {
    spec.every = Steps(100);
    hooks.push_back(hooks::samples(
        estimator, once({one_point()}),
        {.every = Steps(2), .receive = [](std::int64_t, const Features&) { fail("no frame"); }}));
  }
  train_and_evaluate(estimator, {over_and_over({one_point()}), {.max_steps = 100, .hooks = hooks}},
                     {spec});
}

// A failure on worker 1 after step 2 costs no worker a step: neither a failure of an evaluation,
// nor one of validate().
void fail_evaluation(const std::string& dir, bool fails, bool validates) {
  Estimator estimator({.model_fn = model, .model_dir = dir, .run = saving_every_tenth()});
  InputFn input = over_and_over({one_point()});
  InputFn bad = [fails, opened = 0](const InputContext&) mutable -> InputStreamPtr {
    if (++opened == 2 && fails) fail("no such file");
    return std::make_unique<Batches>(std::vector{one_point()}, false);
  };
  if (validates)
    estimator.train(input, {.max_steps = 100,
                            .hooks = {hooks::validate(
                                estimator, {.input_fn = bad, .every = Steps(2), .keep_best = 1})}});
  else
    train_and_evaluate(estimator, {input, {.max_steps = 100}},
                       {{.name = "t", .input_fn = bad, .every = Steps(2)}});
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
    if (what.starts_with("stop_by_"))
      belfry::stop_evaluation(dir, what.substr(8), rank == "1", false, found);
    if (what.starts_with("stop_idle_by_"))
      belfry::stop_evaluation(dir, what.substr(13), rank == "1", true, found);
    if (what.starts_with("fail_chief_")) belfry::fail_chief(dir, what.substr(11));
    if (what == "fail") belfry::fail_evaluation(dir, rank == "1", false);
    if (what == "fail_validate") belfry::fail_evaluation(dir, rank == "1", true);
  } catch (const std::exception& error) {
    std::ofstream(dir + ".error_" + rank) << error.what();
    return 1;
  }
}
