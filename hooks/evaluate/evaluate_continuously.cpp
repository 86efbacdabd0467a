#include "belfry/hooks/evaluate/evaluate_continuously.h"

#include <algorithm>
#include <condition_variable>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/base/mutex.h"
#include "belfry/framework/distribute/workers.h"
#include "belfry/framework/train/checkpoint.h"
#include "belfry/hooks/record/values.h"
#include "belfry/hooks/tensorboard/summaries.h"

namespace belfry {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;  // compared with which no time overflows

void check(std::string_view function, const EvalSpec& spec) {
  hooks::check_evaluation_name(function, spec.name);
  require(bool(spec.input_fn), "evaluate: there is no input_fn");
  require(std::holds_alternative<NewCheckpoint>(spec.every) && spec.start_delay.count() == 0
              && spec.early_stopping.patience == 0 && !spec.early_stopping.target
              && spec.keep_best == 0 && spec.exporters.empty() && spec.devices.empty(),
          function, ": evaluates each new checkpoint, and trains nothing: every, start_delay, ",
          "early_stopping, keep_best, exporters and devices of an EvalSpec are for "
          "train_and_evaluate()");
}

void check_times(const EvalSpec& spec, const EvaluateContinuouslyOptions& o) {
  auto zero = std::chrono::milliseconds(0);
  require(o.poll > zero, "evaluate_continuously: poll must be above 0 ms, got ", o.poll.count());
  require(spec.throttle >= zero && o.timeout.value_or(zero) >= zero,
          "evaluate_continuously: timeout and throttle must be at least 0 ms, got ",
          o.timeout.value_or(zero).count(), " and ", spec.throttle.count());
}

// Returns early when the stop is requested, or after a year: a clock's nanoseconds soon overflow.
void sleep(std::chrono::milliseconds time, const std::stop_token& stop) {
  constexpr std::chrono::milliseconds longest = std::chrono::hours(365 * 24);
  Mutex mutex;
  std::condition_variable_any never;  // it heeds stop tokens, as Condition does not
  MutexLock lock(mutex);
  never.wait_for(lock, stop, std::min(time, longest), [] { return false; });
}

std::int64_t newest_step(const std::string& model_dir) {
  auto files = list_checkpoints(model_dir);
  return files.empty() ? -1 : files.back().step;
}

void publish(Estimator& estimator, const EvalResult& result, const std::string& name) {
  auto step = static_cast<std::int64_t>(result.at("global_step"));
  log_info(hooks::evaluation_text(step, name, result));
  hooks::write_evaluation(hooks::evaluation_dir(estimator.model_dir(), name), result, step);
}

}  // namespace

EvalResult evaluate_and_write(Estimator& estimator, const InputFn& input_fn,
                              const EvalOptions& options, const std::string& name) {
  hooks::check_evaluation_name("evaluate_and_write", name);
  EvalResult result = estimator.evaluate(input_fn, options);
  if (!result.stopped()) publish(estimator, result, name);
  return result;
}

std::optional<EvalResult> evaluate_continuously(Estimator& estimator, const EvalSpec& spec,
                                                const EvaluateContinuouslyOptions& o) {
  check("evaluate_continuously", spec);
  check_times(spec, o);
  std::optional<EvalResult> last;
  std::int64_t seen = -1;
  Clock::time_point news = Clock::now();
  auto is_over = [&] {
    return o.stop.stop_requested() || (o.max_steps && seen >= *o.max_steps)
           || (o.timeout && Seconds(Clock::now() - news) > *o.timeout);
  };
  while (!is_over()) {
    std::int64_t newest = newest_step(estimator.model_dir());
    if (newest <= seen) {
      sleep(o.poll, o.stop);
      continue;
    }
    Clock::time_point began = news = Clock::now();
    seen = newest;
    if (spec.wanted && !spec.wanted(newest)) continue;
    EvalOptions args{.steps = spec.steps, .averaged = spec.averaged};
    // For evaluate() a stop might be the end of data that have none. Here it is not meant to be.
    if (!last && !spec.steps && o.stop.stop_possible())
      estimator.check_evaluation(spec.input_fn, args, o.stop);
    args.stop = o.stop;
    EvalResult result = estimator.evaluate(spec.input_fn, args);
    if (result.stopped()) break;
    // A still newer one may have taken its place meanwhile.
    seen = std::max(seen, static_cast<std::int64_t>(result.at("global_step")));
    publish(estimator, result, spec.name);
    if (spec.receive) spec.receive(seen, result);
    last = std::move(result);
    news = Clock::now();
    auto taken = std::chrono::duration_cast<std::chrono::milliseconds>(news - began);
    if (taken < spec.throttle && !is_over()) sleep(spec.throttle - taken, o.stop);
  }
  return last;
}

std::map<std::int64_t, EvalResult> evaluate_all(Estimator& estimator, const EvalSpec& spec,
                                                const std::stop_token& stop) {
  check("evaluate_all", spec);
  auto files = list_checkpoints(estimator.model_dir());
  require(!files.empty(), "evaluate_all: folder `", estimator.model_dir(),
          "` has no checkpoints; train first, or name the model_dir of a training");
  std::map<std::int64_t, EvalResult> results;
  for (const CheckpointFile& file : files) {
    if (spec.wanted && !spec.wanted(file.step)) continue;
    EvalOptions options{
        .steps = spec.steps, .checkpoint = file.path, .averaged = spec.averaged, .stop = stop};
    EvalResult result = estimator.evaluate(spec.input_fn, options);
    if (result.stopped()) break;
    if (find_workers()->is_chief()) {
      publish(estimator, result, spec.name);
      if (spec.receive) spec.receive(file.step, result);
    }
    results.emplace(file.step, std::move(result));
  }
  return results;
}

}  // namespace belfry
