// The largest batch by planning: it trains, and one row more does not.

#include "comparing.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// RunConfig::memory_limit is the device's, for all tests of the process.
class BatchThatFitsTest : public ::testing::Test {
 protected:
  ~BatchThatFitsTest() override { find_device("cpu")->set_memory_limit(limit_); }

  static EstimatorSpec deep(Scope s, const Batch& batch, Mode) {
    Tensor x = batch["x"];
    for (int i = 0; i < 8; ++i) x = tanh(dense(s / ("layer" + text(i)), x, {.units = 64}));
    Tensor logits = dense(s / "logits", x, {.units = 3});
    return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])),
            .train = momentum({.learning_rate = 0.01})};
  }
  static BatchThatFits find(const RunConfig& config, std::int64_t rows = 16,
                            std::int64_t most = 1 << 16, Hooks hooks = {}) {
    TemporaryFolder folder;
    Estimator estimator({.model_fn = deep, .model_dir = folder.path(), .run = config});
    return estimator.batch_that_fits(over_and_over({labelled_rows(rows, 0)}),
                                     {.hooks = std::move(hooks)}, most);
  }
  // Empty, or why training on a batch of so many rows was refused.
  static std::string refusal(const RunConfig& config, std::int64_t rows, Hooks hooks = {}) {
    std::string error = error_of(
        [&] { variables_after(deep, config, over_and_over({labelled_rows(rows, 0)}), 1, hooks); });
    return error == "no error" ? "" : error;
  }
  static RunConfig limited(RunConfig config) {
    config.memory_limit = Bytes(2 << 20);
    return config;
  }

 private:
  Bytes limit_ = find_device("cpu")->memory_limit();
};

TEST_F(BatchThatFitsTest, TrainsAndOneRowMoreDoesNot) {
  BatchThatFits fits = find(limited(on_cpus(1, 1)));
  ASSERT_EQ(fits.ways.size(), 4u);
  EXPECT_EQ(fits.batch, fits.ways[0].batch);
  for (const FittingBatch& way : fits.ways) {
    SCOPED_TRACE(concat(to_string(way.precision), ", ", way.recompute));
    RunConfig config = limited(on_cpus(1, 1));
    config.precision = way.precision;
    config.recompute.automatic = way.recompute;
    ASSERT_GT(way.batch, 100);
    EXPECT_FALSE(way.at_least);
    EXPECT_EQ(refusal(config, way.batch), "");
    EXPECT_THAT(refusal(config, way.batch + 1),
                HasSubstr(concat("a batch of ", way.batch, " instead of ", way.batch + 1)));
  }
  EXPECT_GT(fits.ways[0].batch, 3 * fits.ways[1].batch / 2);  // f32, computed again and not
  // bf16 and f32, not; without instructions for bf16 oneDNN multiplies copies in f32.
  if (__builtin_cpu_supports("avx512bw")) {
    EXPECT_GT(fits.ways[3].batch, fits.ways[1].batch);
  }
  if (__builtin_cpu_supports("avx512bf16")) {
    EXPECT_GT(fits.ways[3].batch, 3 * fits.ways[1].batch / 2);
  }
}

// From whatever batch the search begins.
TEST_F(BatchThatFitsTest, IsTheSameForAnyFirstBatch) {
  RunConfig config = limited(on_cpus(1, 1));
  std::int64_t batch = find(config, 16).batch;
  for (std::int64_t rows : {std::int64_t{1}, batch - 1, batch, batch + 1, 20 * batch})
    EXPECT_EQ(find(config, rows).batch, batch) << rows;
}

TEST_F(BatchThatFitsTest, CountsTheRowsOfAllTowers) {
  std::int64_t of_one = find(limited(on_cpus(1, 1))).batch;
  RunConfig two = limited(on_cpus(2, 1));
  std::int64_t of_two = find(two).batch;
  EXPECT_EQ(of_two % 2, 0);
  EXPECT_NEAR(static_cast<double>(of_two), 2.0 * static_cast<double>(of_one), 0.05 * of_one);
  EXPECT_EQ(refusal(two, of_two), "");
  EXPECT_NE(refusal(two, of_two + 1), "");
  two.batch = BatchPolicy::per_tower;
  EXPECT_EQ(find(two).batch, of_two / 2);
}

TEST_F(BatchThatFitsTest, MicroBatchesTakeMore) {
  RunConfig config = limited(on_cpus(1, 1));
  config.recompute.automatic = false;
  auto parts = [] { return Hooks{std::make_shared<AsksForMicroBatches>(4)}; };
  std::int64_t batch = find(config, 16, 1 << 16, parts()).batch;
  EXPECT_GT(batch, 2 * find(config).batch);
  EXPECT_EQ(refusal(config, batch, parts()), "");
  EXPECT_NE(refusal(config, batch + 1, parts()), "");
}

// The values that two sub-steps need live together: adam's slots of both.
TEST_F(BatchThatFitsTest, CountsAllPartsOfARound) {
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor x = tanh(dense(s / "a", batch["x"], {.units = 128}));
    Tensor y = mean(dense(s / "b", x, {.units = 128}));
    auto update = [&](const char* scope) {
      return minimize(y, adam({.learning_rate = 0.01}), trainable_variables(s.graph(), scope));
    };
    return {.loss = y,
            .train = {update("a"), update("b")},
            .round = {{.updates = {0}}, {.updates = {1}}}};
  };
  RunConfig config = on_cpus(1, 1);
  config.memory_limit = Bytes(1 << 20);
  TemporaryFolder folder;
  Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = config});
  std::int64_t batch = estimator.batch_that_fits(over_and_over({labelled_rows(16, 0)})).batch;
  ASSERT_GT(batch, 100);
  auto refusal_of = [&](std::int64_t rows) {
    return error_of(
        [&] { variables_after(model, config, over_and_over({labelled_rows(rows, 0)}), 1); });
  };
  EXPECT_EQ(refusal_of(batch), "no error");
  EXPECT_NE(refusal_of(batch + 1), "no error");
}

TEST_F(BatchThatFitsTest, NoMoreThanIsAskedFor) {
  BatchThatFits fits = find(on_cpus(1, 1), 16, 1000);
  EXPECT_EQ(fits.batch, 1000);
  EXPECT_TRUE(fits.ways[0].at_least);
  EXPECT_THAT(to_string(fits), AllOf(HasSubstr("precision   computed again   largest batch\n"),
                                     HasSubstr("f32         as it takes      at least 1000\n"),
                                     HasSubstr("bf16        no               at least 1000\n")));
}

TEST_F(BatchThatFitsTest, NothingFitsIntoNothing) {
  RunConfig config = on_cpus(1, 1);
  config.memory_limit = Bytes(1000);
  EXPECT_EQ(find(config).batch, 0);
}

}  // namespace
}  // namespace belfry
