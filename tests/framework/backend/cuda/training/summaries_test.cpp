// EstimatorSpec::summaries on a device that runs behind the host.

#include "training_on_gpu.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;

/// Asks in every step that `every` divides.
struct Asks final : Hook {
  explicit Asks(std::int64_t every) : every(every) {}
  void before_step(StepRequest& request) override {
    request.summaries = (request.step + 1) % every == 0;
  }
  void after_step(const StepResult& result) override {
    steps.emplace_back(result.summaries.begin(), result.summaries.end());
  }
  std::int64_t every;
  std::vector<std::vector<SummaryValue>> steps;
};

// Shows all that the forward pass computes.
ModelFn showing_all(std::int64_t every) {
  return [=](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = resuming_model(s, batch, mode);
    for (const auto& node : s.graph())
      if (node->outputs().size() > 0 && is_floating(node->output().dtype))
        spec.summaries.push_back(histogram_summary(text(node->id()), Tensor(*node)));
    spec.hooks = {std::make_shared<Asks>(every)};
    return spec;
  };
}

TEST(CudaSummaries, ChangeNoBit) {
  for (Precision precision : {Precision::f32, Precision::bf16}) {
    RunConfig config = on("cuda");
    config.precision = precision;
    expect_same(train_on(config, 9, 0, digits(), showing_all(2)),
                train_on(config, 9, 0, digits(), resuming_model));
  }
}

TEST(CudaSummaries, ComeWithTheirStep) {
  ModelFn model = [](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = falling(s, batch, mode);
    spec.summaries = {scalar_summary("w", spec.values[0].second)};
    return spec;
  };
  TemporaryFolder folder;
  Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = on("cuda")});
  auto recorder = std::make_shared<Recorder>();
  auto asks = std::make_shared<Asks>(2);
  estimator.train(over_and_over({one_point()}), {.max_steps = 7, .hooks = {asks, recorder}});
  std::vector<double> shown;
  for (const auto& step : asks->steps) shown.push_back(step.empty() ? 0 : step[0].value.item());
  EXPECT_THAT(shown, ElementsAre(0, 7.75, 0, 7.25, 0, 6.75, 0));
  EXPECT_THAT(recorder->losses, ElementsAre(8, 7.75, 7.5, 7.25, 7, 6.75, 6.5));
  EXPECT_EQ(recorder->events[2], "end 1");  // the host is ahead as ever
}

}  // namespace
}  // namespace belfry
