// Training that computes its activations again is the same training.

#include "comparing.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Two blocks with all that may go wrong: statistics, dropout, a residual, a second device.
ModelFn two_blocks(int device) {
  return [=](Scope s, const Batch& batch, Mode mode) -> EstimatorSpec {
    bool training = mode == Mode::train;
    auto block = [&](const Scope& b, const Tensor& x) {
      Tensor y = relu(batch_norm(b / "norm", dense(b / "in", x, {.units = 64}),
                                 {.training = training, .momentum = 0.5}));
      y = dropout(b / "drop", y, {.rate = 0.25f, .training = training});
      return tanh(dense(b / "out", y, {.units = 64})) + x;
    };
    Tensor x = dense(s / "stem", batch["x"], {.units = 64});
    x = block((s / "second").on(device), block(s / "first", x));
    Tensor logits = dense((s / "logits").on(device), x, {.units = 3});
    Tensor loss = mean(sparse_softmax_cross_entropy(logits, batch["label"]));
    return {.loss = loss, .train = adam({.learning_rate = 0.01})};
  };
}

RunConfig with(RunConfig config, const Recompute& recompute) {
  config.recompute = recompute;
  return config;
}

const Recompute none{.automatic = false}, blocks{.scopes = {"first", "second"}};

TEST(Recompute, GivesTheSameBits) {
  InputFn input = over_and_over({labelled_rows(12, 0), labelled_rows(7, 1)});
  struct Case {
    int towers, devices_each, parts;
  };
  for (Case c : {Case{1, 1, 1}, Case{2, 1, 1}, Case{1, 2, 1}, Case{1, 1, 3}, Case{2, 2, 2}}) {
    SCOPED_TRACE(concat(c.towers, " towers of ", c.devices_each, " devices, ", c.parts, " parts"));
    RunConfig config = on_cpus(c.towers, c.devices_each);
    auto after = [&](const Recompute& recompute) {
      std::vector<std::shared_ptr<Hook>> hooks;
      if (c.parts > 1) hooks.push_back(std::make_shared<AsksForMicroBatches>(c.parts));
      return variables_after(two_blocks(c.devices_each - 1), with(config, recompute), input, 4,
                             hooks);
    };
    NamedArrays kept = after(none);
    expect_identical(kept, after(blocks));
    expect_identical(kept, after({.scopes = {""}}));
  }
}

// 2048 rows: a batch of the blocks takes 512 KiB.
TEST(Recompute, ThePlanSaysWhatItSavesAndCosts) {
  auto plan = [&](const Recompute& recompute) {
    Estimator estimator({.model_fn = two_blocks(0), .run = with(quiet(), recompute)});
    return estimator.plan(over_and_over({labelled_rows(2048, 0)}), {.steps = 1});
  };
  EXPECT_THAT(plan(none), Not(HasSubstr("computed again")));
  EXPECT_THAT(plan(blocks), HasSubstr("computed again in the backward pass: "));
}

// RunConfig::memory_limit is the device's, for all tests of the process.
class RecomputeWithinALimit : public ::testing::Test {
 protected:
  ~RecomputeWithinALimit() override { find_device("cpu")->set_memory_limit(limit_); }

 private:
  Bytes limit_ = find_device("cpu")->memory_limit();
};

TEST_F(RecomputeWithinALimit, AsMuchAsItTakes) {
  // 16 layers, each of whose batches takes 512 KiB.
  ModelFn deep = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor x = batch["x"];
    for (int i = 0; i < 16; ++i) x = tanh(dense(s / ("layer" + text(i)), x, {.units = 64}));
    Tensor logits = dense(s / "logits", x, {.units = 3});
    return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])), .train = sgd()};
  };
  InputFn input = over_and_over({labelled_rows(2048, 0)});
  RunConfig config = on_cpus(1, 1);
  NamedArrays kept = variables_after(deep, with(config, none), input, 3);
  config.memory_limit = Bytes(6 << 20);
  EXPECT_THAT(error_of([&] { variables_after(deep, with(config, none), input, 3); }),
              HasSubstr("instead of 2048 would fit"));
  expect_identical(kept, variables_after(deep, config, input, 3));
  config.memory_limit = Bytes(1 << 20);
  EXPECT_THAT(error_of([&] { variables_after(deep, config, input, 3); }),
              HasSubstr("instead of 2048 would fit"));
}

}  // namespace
}  // namespace belfry
