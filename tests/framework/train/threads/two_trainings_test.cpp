// Two estimators of one process, each in a thread of its own, train as each does alone.

#include <thread>

#include "../comparing.h"
#include "belfry/data/sources/sources.h"
#include "belfry/data/transforms/transforms.h"

namespace belfry {
namespace {

// Noise of pictures [4, 6, 6, 1] around a label, shuffled, with a little noise more.
Dataset pictures(std::uint64_t seed) {
  auto add_noise = [](Features element, PhiloxStream& random) {
    for (float& v : element.at("x").span<float>()) v += random.uniform(-0.1f, 0.1f);
    return element;
  };
  Features rows = labelled_rows(64, seed, 36);
  rows.set("x", rows.at("x").reshape({64, 6, 6, 1}));
  return data::from_arrays(rows) | data::shuffle(64, {.seed = seed}) | data::repeat()
         | data::map(add_noise, {.workers = 2}) | data::batch(10) | data::prefetch();
}

EstimatorSpec convolutional(Scope s, const Batch& batch, Mode mode) {
  bool training = mode == Mode::train;
  Tensor x = conv2d(s / "conv", batch["x"], {.filters = 4, .kernel = 3});
  x = relu(batch_norm(s / "norm", x, {.training = training}));
  x = dropout(s / "dropout", flatten(x), {.rate = 0.3f, .training = training});
  Tensor logits = dense(s / "logits", x, {.units = 3});
  return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])),
          .train = adam({.learning_rate = 0.01}),
          .metrics = {{"accuracy", accuracy(batch["label"], argmax(logits, 1))}}};
}

EstimatorSpec small(Scope s, const Batch& batch, Mode mode) {
  Tensor x = dropout(s / "dropout", flatten(batch["x"]), {.training = mode == Mode::train});
  Tensor logits = dense(s / "logits", relu(dense(s / "hidden", x, {.units = 9})), {.units = 3});
  return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])),
          .train = momentum({.learning_rate = 0.01})};
}

struct Result {
  NamedArrays variables;
  double loss = 0;
};

Result train(const ModelFn& model_fn, std::uint64_t seed, int towers) {
  TemporaryFolder folder;
  RunConfig config = on_cpus(towers, 1);
  config.seed = seed;
  config.save_checkpoint = Steps(7);
  config.stop_on_signals = true;
  Estimator estimator({.model_fn = model_fn, .model_dir = folder.path(), .run = config});
  estimator.train(pictures(seed), {.max_steps = 10});
  Result out;
  out.loss = estimator.evaluate(pictures(seed + 1), {.steps = 3}).at("loss");
  estimator.train(pictures(seed), {.max_steps = 20});
  for (const std::string& name : estimator.variable_names())
    out.variables[name] = estimator.variable_value(name);
  return out;
}

TEST(TwoTrainings, InTwoThreadsAreThoseOfOne) {
  CapturedLog log;
  std::vector<std::function<Result()>> trainings{[] { return train(convolutional, 3, 1); },
                                                 [] { return train(small, 4, 2); },
                                                 [] { return train(convolutional, 5, 2); }};
  std::vector<Result> alone, beside(trainings.size());
  for (const auto& train_alone : trainings) alone.push_back(train_alone());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < trainings.size(); ++i)
      threads.emplace_back([&, i] { beside[i] = trainings[i](); });
  }
  for (std::size_t i = 0; i < trainings.size(); ++i) {
    expect_identical(alone[i].variables, beside[i].variables);
    EXPECT_EQ(alone[i].loss, beside[i].loss);
    EXPECT_FALSE(alone[i].variables.empty());
  }
}

TEST(TwoTrainings, OfOneEstimatorAreAnError) {
  Estimator estimator({.model_fn = linear, .run = saving_nothing()});
  TrainControl control;
  std::jthread first([&] { estimator.train(over_and_over({one_point()}), {.control = &control}); });
  while (control.progress().step < 1) std::this_thread::yield();
  EXPECT_THAT(error_of([&] { estimator.train(over_and_over({one_point()}), {.steps = 1}); }),
              testing::HasSubstr("this Estimator is training already"));
  control.request_stop("enough");
}

}  // namespace
}  // namespace belfry
