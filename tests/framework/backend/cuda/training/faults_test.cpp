// Bad data beside a training: each caller hears of its own, and of no one else's.

#include <atomic>
#include <thread>

#include "belfry/framework/train/predictions.h"
#include "training_on_gpu.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Looks ids up; learns labels.
EstimatorSpec looked_up(Scope s, const Batch& batch, Mode mode) {
  Tensor table = s.variable("table", {.shape = {5, 4}, .initializer = constant_value(1)}).value();
  Tensor logits = gather(table, batch["id"]);
  if (mode == Mode::predict) return {.predictions = {{"logits", logits}}};
  return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])),
          .train = sgd({.learning_rate = 0.1})};
}

Features rows(std::int64_t last_id, std::int64_t last_label) {
  return {{"id", Array::of<std::int64_t>({0, 4, last_id})},
          {"label", Array::of<std::int64_t>({3, 1, last_label})}};
}

TEST(CudaFaultsInTraining, EachCallerHearsOfItsOwn) {
  for (int round = 0; round < 20; ++round) {
    TemporaryFolder folder;
    Estimator estimator({.model_fn = looked_up, .model_dir = folder.path(), .run = on("cuda")});
    estimator.train(once({rows(1, 0)}));
    LivePredictor predict = estimator.predictor();
    std::atomic<bool> trained = false;
    std::jthread caller([&] {
      for (int n = 0; n < 6 || !trained; ++n) {
        bool bad = n % 2 == 1;
        std::string error = error_of([&] { predict(rows(bad ? 7 : 2, 0)); });
        if (error.find("a training has failed within a step") != std::string::npos) return;
        EXPECT_THAT(error, HasSubstr(bad ? "index at position 2 is outside 0..4" : "no error"));
      }
    });
    std::vector<Features> batches(6, rows(3, 2));
    batches.push_back(rows(3, 8));
    std::string error = error_of([&] { estimator.train(once(batches)); });
    trained = true;
    EXPECT_THAT(error, AllOf(HasSubstr("label at row 2"), HasSubstr("in training step 8")));
  }
}

}  // namespace
}  // namespace belfry
