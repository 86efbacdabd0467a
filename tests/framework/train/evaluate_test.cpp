// Estimator::evaluate().

#include <functional>
#include <stop_token>

#include "../base/resident_bytes.h"
#include "belfry/data/data.h"
#include "training_testing.h"

namespace belfry {
namespace {

/// Points (1, 1), (1, 2), (1, 3), ...; tells how many it has handed out.
class Endless final : public InputStream {
 public:
  Endless(int& count, std::function<void(int)> tell) : count_(count), tell_(std::move(tell)) {}
  bool next(Features& batch) override {
    tell_(++count_);
    batch = one_point(1, static_cast<float>(count_));
    return true;
  }

 private:
  int& count_;
  std::function<void(int)> tell_;
};

TEST(Evaluate, WeighsBatchesByRows) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = linear, .model_dir = dir.path(), .run = quiet()});
  Features full = points({1, 1, 1, 1}, {1, 1, 1, 1}), rest = points({1}, {3});
  EvalResult result = estimator.evaluate(once({full, rest}));  // untrained: y = 0
  EXPECT_DOUBLE_EQ(result.at("loss"), (4 * 1 + 1 * 9) / 5.0);
  EXPECT_DOUBLE_EQ(result.at("error"), (4 * 1 + 3) / 5.0);
  EXPECT_EQ(result.at("global_step"), 0);
  EXPECT_TRUE(result.contains("error"));
  EXPECT_EQ(error_of([&] { result.at("accuracy"); }),
            "evaluate: there is no result `accuracy`; there are error, global_step, loss");
}

TEST(Evaluate, AnEmptyBatchWeighsNothing) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = linear, .model_dir = dir.path(), .run = quiet()});
  EvalResult result = estimator.evaluate(once({points({}, {}), points({1}, {3})}));
  EXPECT_EQ(result.at("loss"), 9);
  EXPECT_EQ(result.at("error"), 3);
}

TEST(Evaluate, EndsAfterItsSteps) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = linear, .model_dir = dir.path(), .run = quiet()});
  InputFn input = over_and_over({one_point(1, 1), one_point(1, 3)});
  EXPECT_EQ(estimator.evaluate(input, {.steps = 1}).at("loss"), 1);
  EXPECT_EQ(estimator.evaluate(input, {.steps = 4}).at("loss"), 5);
  EXPECT_EQ(estimator.evaluate(once({one_point()}), {.steps = 9}).at("loss"), 1);
  EXPECT_EQ(error_of([&] { estimator.evaluate(once({})); }), "evaluate: the input has no batch");
}

TEST(Evaluate, EndsWhenItIsAskedTo) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = linear, .model_dir = dir.path(), .run = quiet()});
  std::stop_source stop;
  int reads = 0;
  InputFn endless = [&](const InputContext& context) -> InputStreamPtr {
    EXPECT_EQ(context.stop, stop.get_token());  // which may wake it
    return std::make_unique<Endless>(reads, [&](int read) {
      if (read == 3) stop.request_stop();
    });
  };
  EvalResult result = estimator.evaluate(endless, {.stop = stop.get_token()});
  EXPECT_EQ(reads, 3);
  EXPECT_EQ(result.at("loss"), (1 + 4 + 9) / 3.0);
  EXPECT_EQ(result.at("error"), (1 + 2 + 3) / 3.0);
  result = estimator.evaluate(endless, {.stop = stop.get_token()});
  EXPECT_EQ(reads, 3);
  EXPECT_FALSE(result.contains("loss"));
  EXPECT_EQ(result.at("global_step"), 0);
}

// As a source that waits is woken.
TEST(Evaluate, MayBeStoppedBeforeThereAreRows) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = linear, .model_dir = dir.path(), .run = quiet()});
  struct Stops final : InputStream {
    Stops(std::stop_source s, int n) : stop(std::move(s)), left(n) {}
    bool next(Features& batch) override {
      if (left-- == 0) return stop.request_stop(), false;
      batch = points({}, {});
      return true;
    }
    std::stop_source stop;
    int left;
  };
  for (int empty_batches : {0, 2}) {
    std::stop_source stop;
    EvalResult result = estimator.evaluate(
        [&] { return std::make_unique<Stops>(stop, empty_batches); }, {.stop = stop.get_token()});
    EXPECT_EQ(std::distance(result.begin(), result.end()), 1);
    EXPECT_EQ(result.at("global_step"), 0);
  }
}

TEST(Evaluate, NeedsRowsUnlessItWasStopped) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = linear, .model_dir = dir.path(), .run = quiet()});
  std::stop_source stop;
  EXPECT_EQ(error_of([&] { estimator.evaluate(once({}), {.stop = stop.get_token()}); }),
            "evaluate: the input has no batch");
  EXPECT_EQ(
      error_of([&] { estimator.evaluate(once({points({}, {})}), {.stop = stop.get_token()}); }),
      "evaluate: the input has no rows");
}

TEST(Evaluate, TakesTheLiveStateOrANamedCheckpoint) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = saving_every(2)});
  InputFn input = over_and_over({one_point()});
  estimator.train(input, {.steps = 5});
  EXPECT_EQ(estimator.evaluate(input, {.steps = 1}).at("loss"), 8 - 5 * 0.25);
  EvalResult earlier =
      estimator.evaluate(input, {.steps = 1, .checkpoint = checkpoint_path(dir.path(), 2)});
  EXPECT_EQ(earlier.at("loss"), 7.5);
  EXPECT_EQ(earlier.at("global_step"), 2);
  EXPECT_EQ(estimator.train(input, {.steps = 1}).global_step, 6);  // which changed nothing
  Estimator other({.model_fn = falling, .model_dir = dir.path(), .run = quiet()});
  EXPECT_EQ(other.evaluate(input, {.steps = 1}).at("global_step"), 6);
  EXPECT_EQ(other.latest_checkpoint(), checkpoint_path(dir.path(), 6));
}

TEST(Evaluate, LeavesNothingBehind) {
  if (freed_memory_is_kept) GTEST_SKIP() << "sanitizers keep freed memory";
  auto same = [](Features in) { return in; };
  Dataset data = data::from_arrays(points({1, 2, 3}, {1, 2, 3})) | data::map(same, {.workers = 4})
                 | data::batch(3) | data::threads(16);
  Estimator estimator({.model_fn = linear, .run = saving_nothing()});
  auto evaluate = [&] {
    for (int i = 0; i < 2'000; ++i) ASSERT_EQ(estimator.evaluate(data).at("error"), 2);
  };
  EXPECT_LT(growth_of(evaluate), 600 << 10);
}

TEST(Evaluate, ChangesNothing) {
  TemporaryFolder a, b;
  Estimator with({.model_fn = linear, .model_dir = a.path(), .run = quiet()});
  Estimator without({.model_fn = linear, .model_dir = b.path(), .run = quiet()});
  InputFn input = over_and_over({one_point(1, 2), one_point(3, 1)});
  for (int i = 0; i < 4; ++i) {
    with.evaluate(once({one_point(5, 5)}));
    with.train(input, {.steps = 1});
    without.train(input, {.steps = 1});
  }
  EXPECT_TRUE(identical(with.variable_value("line/kernel"), without.variable_value("line/kernel")));
}

}  // namespace
}  // namespace belfry
