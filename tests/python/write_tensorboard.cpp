// Writes event files with every kind of value, and those of a training that is resumed and of an
// evaluation. read_tensorboard.py knows the same values.

#include <cmath>
#include <cstdio>
#include <exception>

#include "belfry/framework/distribute/variables.h"
#include "belfry/framework/graph/leaves.h"
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
#include "belfry/hooks/hooks.h"

using namespace belfry;

namespace {

Array image(std::int64_t channels) {
  Array out({5, 7, channels}, DType::u8);
  auto pixels = out.span<std::uint8_t>();
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(7 * i);
  return out;
}

// The same batch for ever: x = 2 for two rows.
class Twos final : public InputStream {
 public:
  bool next(Features& batch) override {
    batch.set("x", Array::of({2.f, 2.f}, {2, 1}));
    return true;
  }
};

Array texts() { return Array::of<std::uint8_t>({'*', 'a', '*', 'b', 0, 0}, {2, 3}); }

// w falls from 3 by 1/4 of x in each step. Of the pictures the second has the value w / 4 all over.
EstimatorSpec falling(Scope s, const Batch& batch, Mode) {
  Variable w = (s / "layer").variable("w", {.initializer = constant_value(3)});
  Tensor loss = mean(w.value() * batch["x"]);
  Tensor black = constant(s.graph(), Array::zeros({1, 5, 7, 3}));
  Tensor labels = constant(s.graph(), Array::of({1, 1, 0, 0, 1}));
  Tensor scores = constant(s.graph(), Array::of({0.5f, 1.f, 0.25f, 0.75f, 0.f}));
  return {.loss = loss,
          .train = sgd({.learning_rate = 0.25}),
          .metrics = {{"curve", pr_curve(labels, scores, {.thresholds = 5})}},
          .values = {{"w", w}},
          .summaries = {scalar_summary("shown/w", w.value() * 2),
                        histogram_summary("shown/x", batch["x"]),
                        image_summary("shown/picture", concat({black, black + w.value() / 4}, 0)),
                        text_summary("shown/text", constant(s.graph(), texts()))}};
}

void write_values(const std::string& dir) {
  hooks::EventFile file(dir);
  for (int step = 0; step < 1000; ++step)
    file.add(step, {hooks::scalar_summary("sine", std::sin(step)),
                    hooks::scalar_summary("group/step", step)});
  file.add(3, {hooks::scalar_summary("odd/nan", NAN), hooks::scalar_summary("odd/inf", INFINITY)});
  for (int step : {1, 1'000'000'000}) {
    Array values({1000}, DType::f32);
    for (int i = 0; i < 1000; ++i)
      values.span<float>()[static_cast<std::size_t>(i)] = static_cast<float>(std::cos(i) * step);
    file.add(step, {hooks::histogram_summary("cosines", values)});
  }
  for (int channels : {1, 3, 4})
    file.add(1, {hooks::image_summary("images/" + std::to_string(channels), image(channels))});
  file.add(2, {hooks::text_summary("note", "**bold** \xc3\xa4\n")});
  file.add(4, {hooks::pr_curve_summary(
                  "curve", hooks::count_pr_curve(Array::of({1, 1, 0, 0, 1}),
                                                 Array::of({0.5f, 1.f, 0.25f, 0.75f, 0.f}), 5))});
}

// Five steps, of which two are saved, and then two more.
void write_restart(const std::string& dir) {
  for (int first : {1, 3}) {
    hooks::EventFile file(dir);
    file.add_session(first, hooks::SessionStatus::start);
    for (int step = first; step < first + (first == 1 ? 5 : 2); ++step)
      file.add(step, {hooks::scalar_summary("run", first)});
  }
}

void write_training(const std::string& dir) {
  RunConfig config;
  config.log_step_count = Steps(0);
  for (int steps : {3, 5}) {
    Estimator estimator({.model_fn = falling, .model_dir = dir, .run = config});
    auto summaries = hooks::summaries(
        {.every = Steps(1),
         .of_model = Steps(2),
         .histograms = Steps(2),
         .hyper_parameters = {{"rate", 0.25}, {"units", 7}, {"deep", false}, {"name", "fall"}}});
    auto input = [] { return std::make_unique<Twos>(); };
    estimator.train(input, {.max_steps = steps, .hooks = {summaries}, .listeners = {summaries}});
    hooks::write_evaluation(hooks::evaluation_dir(dir, "test"),
                            estimator.evaluate(input, {.steps = 2}), steps, "checkpoint");
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) return 2;
  const std::string dir = argv[1];
  write_values(dir + "/values");
  write_restart(dir + "/restart");
  write_training(dir + "/model");
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
