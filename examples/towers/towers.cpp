// Handwritten digits on two towers that share every batch: 15 rows are 8 and 7. Evaluated with the
// moving averages of the variables; at the end it says where the time went.

#include <belfry/data.h>
#include <belfry/framework.h>
#include <belfry/hooks.h>

#include "common/program.h"

using namespace belfry;

EstimatorSpec perceptron(Scope s, const Batch& batch, Mode mode) {
  Tensor x = flatten(batch["image"]);                    // [n, 784]
  x = relu(dense(s / "hidden", x, {.units = 256}));      // [n, 256]
  Tensor logits = dense(s / "digit", x, {.units = 10});  // [n, 10]
  Tensor digit = argmax(logits, 1);                      // [n]
  if (mode == Mode::predict) return {.predictions = {{"digit", digit}}};
  return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])),
          .train = adam({.learning_rate = 1e-3}),
          .metrics = {{"accuracy", accuracy(batch["label"], digit)}}};
}

int main(int argc, char** argv) {
  examples::Options defaults{
      .about = "Handwritten digits on two towers that share every batch; says where the time goes.",
      .max_steps = 2000,
      .batch_size = 15};
  defaults.run.devices = {"cpu:0", "cpu:1"};
  return examples::run(argc, argv, defaults, [](const auto& o) {
    Dataset train = data::drawn_digits({.split = data::Split::train})
                    | data::shuffle(10'000, {.seed = o.run.seed}) | data::repeat()
                    | data::batch(o.batch_size) | data::prefetch();
    Dataset test = data::drawn_digits({.split = data::Split::test}) | data::batch(500);
    Estimator classifier({.model_fn = perceptron, .model_dir = o.model_dir, .run = o.run});
    TrainOptions training{.max_steps = o.max_steps,
                          .hooks = {hooks::moving_average({.decay = 0.99}), hooks::progress()}};
    if (o.plan) return examples::print_plan(o, classifier, train, training);
    if (o.summary) return examples::print_summary(classifier, train);
    auto trained = classifier.train(train, training);
    if (trained.steps > 0)
      log_info("a step: ",
               breakdown_text(trained.input_wait_seconds, trained.times, trained.seconds));
    return examples::report(trained, classifier.evaluate(test, {.averaged = true}));
  });
}
