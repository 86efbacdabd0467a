// Batches of many shapes: the memory that their plans take, and which of them stay.

#include <algorithm>

#include "training_testing.h"

namespace belfry {
namespace {

// Strips of 8 x 16 x width x 4; the first layer keeps its images for the gradients.
Features strip(std::int64_t width) {
  Array x = Array::zeros({8, 16, width, 4});
  std::int64_t i = width;
  for (float& value : x.span<float>()) value = static_cast<float>(++i * 37 % 101) / 101 - 0.5f;
  return {{"x", std::move(x)}};
}

EstimatorSpec strips(Scope s, const Batch& batch, Mode) {
  Tensor x = relu(conv2d(s / "first", batch["x"], {.filters = 16, .kernel = 3}));
  x = conv2d(s / "second", x, {.filters = 16, .kernel = 3});
  Tensor loss = mean(square(x - 1));
  return {.loss = loss, .train = adam({.learning_rate = 0.001}), .values = {{"power", mean(x)}}};
}

// Small widths before and behind the largest one.
std::vector<Features> strips_of(int count) {
  std::vector<Features> batches;
  for (int i = 0; i < count; ++i) batches.push_back(strip(8 + i * 37 % count));
  return batches;
}

std::int64_t memory_in_use() { return find_device("cpu")->memory_in_use().count; }

struct Outcome {
  std::vector<double> losses;
  std::int64_t bytes = 0;  // in use after the last step
};

Outcome train_on_strips(const RunConfig& config, const std::vector<Features>& batches) {
  struct Look final : Hook {
    void after_step(const StepResult& result) override {
      outcome.losses.push_back(result.loss);
      outcome.bytes = memory_in_use();
    }
    Outcome outcome;
  };
  TemporaryFolder folder;
  auto look = std::make_shared<Look>();
  Estimator estimator({.model_fn = strips, .model_dir = folder.path(), .run = config});
  estimator.train(once(batches), {.hooks = {look}});
  return look->outcome;
}

// RunConfig::memory_limit is the device's, for all tests of the process.
class Plans : public ::testing::Test {
 protected:
  ~Plans() override { find_device("cpu")->set_memory_limit(limit_); }

 private:
  Bytes limit_ = find_device("cpu")->memory_limit();
};

TEST_F(Plans, OfManyShapesComputeInTheMemoryOfTheLargest) {
  const std::vector<Features> batches = strips_of(200);
  RunConfig config = saving_nothing();
  std::int64_t alone = 0;
  for (std::int64_t width : {207, 206, 205, 204, 200})
    alone = std::max(alone, train_on_strips(config, {strip(width)}).bytes);
  Outcome many = train_on_strips(config, batches);
  EXPECT_LE(many.bytes, alone + alone / 5);
  EXPECT_EQ(memory_in_use(), 0);  // given back

  // So much memory is enough, and losses do not depend on where a plan computes.
  config.memory_limit = Bytes(alone + alone / 5);
  EXPECT_EQ(train_on_strips(config, batches).losses, many.losses);
  config.plans = 1;
  EXPECT_EQ(train_on_strips(config, batches).losses, many.losses);
  config.memory_limit = Bytes(alone - 1);
  config.recompute.automatic = false;
  EXPECT_THAT(error_of([&] { train_on_strips(config, batches); }),
              ::testing::HasSubstr("a batch of 7 instead of 8 would fit"));
}

// A constant as large as the batch: each plan has one of its own.
EstimatorSpec with_constant(Scope s, const Batch& batch, Mode mode) {
  Tensor x = batch["x"];
  Array weights(x.type());
  int i = 0;
  for (float& value : weights.span<float>()) value = static_cast<float>(++i % 7);
  Tensor y = dense(s / "line", x * constant(s, weights), {.units = 1});
  if (mode == Mode::predict) return {.predictions = {{"y", y}}};
  return {.loss = mean(square(y)), .train = sgd({.learning_rate = 0.001})};
}

TEST_F(Plans, ThatNobodyUsesGoWhereMemoryIsShort) {
  auto batch_of = [](std::int64_t rows) { return Features{{"x", Array::zeros({rows, 1000})}}; };
  RunConfig config = saving_nothing();
  config.memory_limit = Bytes(3'000'000);  // the largest needs about 1.2 MB, of which 0.4 stay
  TemporaryFolder folder;
  Estimator estimator({.model_fn = with_constant, .model_dir = folder.path(), .run = config});
  LivePredictor predict = estimator.predictor();
  for (std::int64_t rows = 60; rows <= 100; rows += 5) {
    estimator.train(once({batch_of(rows), batch_of(rows + 1)}));
    estimator.evaluate(once({batch_of(rows + 2)}));
    EXPECT_EQ(predict(batch_of(rows + 3)).at("y").shape()[0], rows + 3);
  }
  std::string error = error_of([&] { estimator.evaluate(once({batch_of(1000)})); });
  EXPECT_THAT(error, ::testing::HasSubstr("instead of 1000 would fit"));
}

TEST_F(Plans, TheLeastRecentlyUsedGoes) {
  int built = 0;
  auto counted = [&](Scope s, const Batch& batch, Mode mode) {
    ++built;
    return linear(s, batch, mode);
  };
  Features one = one_point(), two = points({1, 2}, {1, 2}), three = points({1, 2, 3}, {1, 2, 3});
  auto builds = [&](int plans, const std::vector<Features>& batches) {
    RunConfig config = saving_nothing();
    config.plans = plans;
    TemporaryFolder folder;
    Estimator estimator({.model_fn = counted, .model_dir = folder.path(), .run = config});
    built = 0;
    estimator.evaluate(once(batches));
    return built;
  };
  EXPECT_EQ(builds(3, {one, two, three, one, two, three}), 3);
  EXPECT_EQ(builds(2, {one, two, one, three, one, two}), 4);
  EXPECT_EQ(builds(1, {one, one, two, two, three, three, one}), 4);
}

}  // namespace
}  // namespace belfry
