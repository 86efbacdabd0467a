#pragma once
// The common parts of the tests of this folder: batches in memory, and models so small that their
// numbers can be worked out by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "../base/error_of.h"
#include "../base/temporary_folder.h"
#include "belfry/framework/backend/backend.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/distribute/variables.h"
#include "belfry/framework/layers/layers.h"
#include "belfry/framework/layers/losses/losses.h"
#include "belfry/framework/layers/metrics/metrics.h"
#include "belfry/framework/ops/ops.h"
#include "belfry/framework/optimizers/optimizers.h"
#include "belfry/framework/train/checkpoint.h"
#include "belfry/framework/train/estimator.h"
#include "belfry/framework/train/model_summary.h"
#include "belfry/framework/train/predictions.h"
#include "belfry/framework/train/replicated.h"
#include "belfry/framework/train/warm_start.h"

namespace belfry {

/// Batches in memory, once or over and over. Handing one out allocates nothing.
class Batches final : public InputStream {
 public:
  Batches(std::vector<Features> list, bool repeat) : list_(std::move(list)), repeat_(repeat) {}

  bool next(Features& batch) override {
    if (!repeat_ && next_ >= list_.size()) return false;
    const Features& own = list_[next_ % list_.size()];
    if (batch.size() != own.size()) batch.clear();
    for (const auto& [name, array] : own) batch.set(name, array);
    ++next_;
    return true;
  }
  std::string save() const override { return text(next_); }
  void restore(const std::string& state) override { next_ = std::stoull(state); }

 private:
  std::vector<Features> list_;
  bool repeat_;
  std::size_t next_ = 0;
};

inline InputFn over_and_over(std::vector<Features> list) {
  return [list] { return std::make_unique<Batches>(list, true); };
}
inline InputFn once(std::vector<Features> list) {
  return [list] { return std::make_unique<Batches>(list, false); };
}

/// Returns when somebody requests `stop`.
inline void wait_for(const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any().wait(lock, stop, [] { return false; });
}

/// Rows of x [n, 1] with their y [n, 1].
inline Features points(const std::vector<float>& x, const std::vector<float>& y) {
  auto n = static_cast<std::int64_t>(x.size());
  return {{"x", Array::of(std::span<const float>(x), {n, 1})},
          {"y", Array::of(std::span<const float>(y), {n, 1})}};
}
inline Features one_point(float x = 1, float y = 1) { return points({x}, {y}); }

/// y = x w + b from w = b = 0, the mean of squared errors, gradient descent at rate 1/4.
inline EstimatorSpec linear(Scope s, const Batch& batch, Mode mode) {
  Tensor y = dense(s / "line", batch["x"], {.units = 1, .kernel_initializer = zeros()});
  if (mode == Mode::predict) return {.predictions = {{"y", y}, {"twice", y * 2}}};
  return {.loss = mean(mean_squared_error(y, batch["y"])),
          .train = sgd({.learning_rate = 0.25}),
          .metrics = {{"error", mean_absolute_error_metric(batch["y"], y)}}};
}

/// loss = w x with w = 8 at first, so each step takes 1/4 of the mean of x from w.
inline EstimatorSpec falling(Scope s, const Batch& batch, Mode) {
  Variable w = s.variable("w", {.initializer = constant_value(8)});
  Tensor loss = mean(w.value() * batch["x"]);
  return {.loss = loss, .train = sgd({.learning_rate = 0.25}), .values = {{"w", w}}};
}

/// Quiet, without handlers for signals, saving at the first and the last step.
inline RunConfig quiet() {
  RunConfig config;
  config.log_step_count = Steps(0);
  config.stop_on_signals = false;
  return config;
}
inline RunConfig saving_every(std::int64_t steps, int keep = 0) {
  RunConfig config = quiet();
  config.save_checkpoint = Steps(steps);
  config.keep_checkpoints.newest = keep;
  return config;
}
inline RunConfig saving_nothing() {
  RunConfig config = quiet();
  config.save_checkpoint = std::nullopt;
  return config;
}

/// Keeps what is logged while it lives.
class CapturedLog {
 public:
  CapturedLog()
      : previous_(set_log_sink([this](LogLevel level, std::string_view line) {
          (level == LogLevel::info ? info : warnings) += std::string(line) + "\n";
        })) {}
  ~CapturedLog() { set_log_sink(previous_); }
  CapturedLog(const CapturedLog&) = delete;

  std::string info, warnings;

 private:
  LogSink previous_;
};

inline std::vector<std::int64_t> saved_steps(const std::string& model_dir) {
  std::vector<std::int64_t> out;
  for (const CheckpointFile& file : list_checkpoints(model_dir)) out.push_back(file.step);
  return out;
}

inline double scalar(Estimator& estimator, std::string_view variable) {
  return estimator.variable_value(variable).item();
}

}  // namespace belfry
