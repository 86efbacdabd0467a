#pragma once
// The model and the input of the workers, and of the trainings that they are compared with.

#include "../comparing.h"
#include "../resuming_model.h"
#include "belfry/framework/base/file.h"

namespace belfry {

/// Batches of the digits; every `stride`-th from `first` on.
class EveryBatch final : public InputStream {
 public:
  EveryBatch(std::int64_t first, std::int64_t stride, std::int64_t batches)
      : next_(first), stride_(stride), batches_(batches) {}

  bool next(Features& batch) override {
    if (next_ >= batches_) return false;
    constexpr std::int64_t sizes[] = {6, 5, 2, 4, 1};
    std::int64_t rows = sizes[next_ % 5];
    Array x(Shape{rows, 6}, DType::f32), label(Shape{rows}, DType::i64);
    PhiloxStream random(philox_key(3, static_cast<std::uint64_t>(next_)));
    for (float& v : x.span<float>()) v = static_cast<float>(random.normal());
    for (std::int64_t& v : label.span<std::int64_t>())
      v = static_cast<std::int64_t>(random.below(4));
    batch.set("x", x);
    batch.set("label", label);
    next_ += stride_;
    return true;
  }
  std::string save() const override { return text(next_); }
  void restore(const std::string& state) override { next_ = std::stoll(state); }

 private:
  std::int64_t next_, stride_, batches_;
};

/// Each pipeline takes its part of the batches.
inline InputFn batches_of(std::int64_t count) {
  return [count](const InputContext& c) -> InputStreamPtr {
    return std::make_unique<EveryBatch>(c.pipeline, c.pipelines, count);
  };
}

/// After so many batches of another stream it waits until it is stopped, and makes the file `sign`
/// when it does.
class Waits final : public InputStream {
 public:
  Waits(InputStreamPtr own, int batches, std::stop_token stop, std::string sign)
      : own_(std::move(own)), left_(batches), stop_(std::move(stop)), sign_(std::move(sign)) {}

  bool next(Features& batch) override {
    if (left_-- > 0) return own_->next(batch);
    write_file_atomically(sign_, std::string_view("waits"));
    wait_for(stop_);
    return false;
  }
  std::string save() const override { return own_->save(); }

 private:
  InputStreamPtr own_;
  int left_;
  std::stop_token stop_;
  std::string sign_;
};

/// batches_of(1000), but the last pipeline waits after its third.
inline InputFn waiting_batches(std::string sign) {
  return [sign = std::move(sign)](const InputContext& context) -> InputStreamPtr {
    InputStreamPtr own = batches_of(1000)(context);
    if (context.pipeline < context.pipelines - 1) return own;
    return std::make_unique<Waits>(std::move(own), 3, context.stop, sign);
  };
}

/// The last of several pipelines has nothing; one alone, which would have all, waits for it.
inline InputFn batches_for_others(std::string sign) {
  return [sign = std::move(sign)](const InputContext& context) -> InputStreamPtr {
    InputStreamPtr own = batches_of(1000)(context);
    if (context.pipelines == 1)
      return std::make_unique<Waits>(std::move(own), 0, context.stop, sign);
    if (context.pipeline < context.pipelines - 1) return own;
    return batches_of(0)(context);
  };
}

/// The first of several pipelines has six batches and the others have one each.
inline InputFn uneven_batches() {
  return [](const InputContext& c) -> InputStreamPtr {
    std::int64_t all = c.pipeline == 0 ? 6 * c.pipelines : c.pipelines;
    return std::make_unique<EveryBatch>(c.pipeline, c.pipelines, all);
  };
}

/// Reads all gradients before other reductions start.
struct Clip final : Hook {
  void on_gradients(GradientStage& stage) override {
    stage.gradients = clip_by_global_norm(stage.gradients, 1).gradients;
  }
};

/// Dropout, decay of weights, clipping, counts of each kind.
inline EstimatorSpec worker_model(Scope s, const Batch& batch, Mode mode) {
  bool training = mode == Mode::train;
  Tensor x = tanh(dense(s / "in", batch["x"], {.units = 8}));
  x = dropout(s / "drop", x, {.rate = 0.3f, .training = training});
  Tensor logits = dense(s / "out", x, {.units = 4});
  Tensor noise = random_normal(s / "noise", {batch.rows()});
  if (mode == Mode::predict) return {.predictions = {{"logits", logits}, {"noise", noise}}};
  if (training) {
    for (OverTowers kind : {OverTowers::sum, OverTowers::mean, OverTowers::per_tower}) {
      Variable v =
          s.variable(to_string(kind), {.kind = VariableKind::statistic, .over_towers = kind});
      assign(v, v + sum(batch["x"]));
    }
  }
  Tensor loss = mean(sparse_softmax_cross_entropy(logits, batch["label"]));
  return {.loss = loss,
          .train = adamw({.learning_rate = 0.01, .weight_decay = 0.1}),
          .metrics = {{"accuracy", sparse_categorical_accuracy(batch["label"], logits)},
                      {"noise", mean_metric(noise)}},
          .summaries = {scalar_summary("loss", loss)},
          .hooks = {std::make_shared<Clip>()}};
}

/// `towers`: "1", "2"; "1 x 2" for towers of two devices, into which the model is cut; "2 central"
/// for variables on the first; "2 gpu" for towers on emulated GPUs.
inline RunConfig worker_config(BatchPolicy policy, const std::string& towers) {
  RunConfig config;
  config.batch = policy;
  config.threads = 1;
  config.log_step_count = Steps(0);
  config.reduction_timeout = std::chrono::seconds(3);
  int devices_each = towers.ends_with(" x 2") ? 2 : 1;
  config.devices = on_cpus(std::stoi(towers), devices_each).devices;
  if (towers.ends_with("gpu")) {
    for (std::size_t t = 0; t < config.devices.size(); ++t) config.devices[t] = concat("cuda:", t);
    // Graphs of several emulated GPUs in one process cannot wait for each other.
    config.capture_steps = config.devices.size() == 1;
  }
  if (towers.ends_with("central")) config.variables = VariablePlacement::central;
  if (devices_each > 1) config.split = auto_split(devices_each);
  return config;
}

}  // namespace belfry
