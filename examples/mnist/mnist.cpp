// Handwritten digits. Without --data_dir, on digits that Belfry draws itself.

#include <belfry/data.h>
#include <belfry/framework.h>
#include <belfry/hooks.h>

#include "common/program.h"

using namespace belfry;

EstimatorSpec lenet(Scope s, const Batch& batch, Mode mode) {
  Tensor x = batch["image"];                                                 // [n, 28, 28, 1]
  x = max_pool(relu(conv2d(s / "conv1", x, {.filters = 32, .kernel = 5})));  // [n, 14, 14, 32]
  x = max_pool(relu(conv2d(s / "conv2", x, {.filters = 64, .kernel = 5})));  // [n, 7, 7, 64]
  x = relu(dense(s / "fc1", flatten(x), {.units = 1024}));                   // [n, 1024]
  x = dropout(s / "drop", x, {.rate = 0.4f, .training = mode == Mode::train});
  Tensor logits = dense(s / "fc2", x, {.units = 10});  // [n, 10]
  Tensor digit = argmax(logits, 1);                    // [n]
  if (mode == Mode::predict) return {.predictions = {{"digit", digit}}};
  Schedule rate = exponential_decay({.initial = 1e-3, .decay_steps = 1000, .decay_rate = 0.5});
  return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])),
          .train = adam({.learning_rate = rate}),
          .metrics = {{"accuracy", accuracy(batch["label"], digit)}}};
}

Dataset digits(const examples::Options& o, data::Split split) {
  return o.data_dir.empty() ? data::drawn_digits({.split = split}) : data::mnist(o.data_dir, split);
}

int main(int argc, char** argv) {
  examples::Options defaults{.about = "LeNet learns handwritten digits.",
                             .data = "MNIST's four files, gzipped or not",
                             .max_steps = 4000,
                             .batch_size = 128};
  return examples::run(argc, argv, defaults, [](const auto& o) {
    Dataset train = digits(o, data::Split::train) | data::shuffle(60'000, {.seed = o.run.seed})
                    | data::repeat() | data::batch(o.batch_size) | data::prefetch();
    Dataset test = digits(o, data::Split::test) | data::batch(500);
    Estimator classifier({.model_fn = lenet, .model_dir = o.model_dir, .run = o.run});
    TrainOptions training{.max_steps = o.max_steps, .hooks = {hooks::progress()}};
    if (o.plan) return examples::print_plan(o, classifier, train, training);
    if (o.summary) return examples::print_summary(classifier, train);
    auto trained = classifier.train(train, training);
    return examples::report(trained, classifier.evaluate(test));
  });
}
