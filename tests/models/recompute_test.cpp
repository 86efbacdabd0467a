// Models that compute their activations again train to the same bits.

#include <gtest/gtest.h>

#include "../framework/base/temporary_folder.h"
#include "every_model.h"

namespace belfry::models {
namespace {

struct Outcome {
  std::vector<double> losses;
  NamedArrays variables;
};

Outcome train(const SmallModel& small, RunConfig config, const Recompute& recompute) {
  struct Losses final : Hook {
    void after_step(const StepResult& result) override { list.push_back(result.loss); }
    std::vector<double> list;
  };
  TemporaryFolder folder;
  config.recompute = recompute;
  Estimator estimator(
      {.model_fn = make(small.name, small.options), .model_dir = folder.path(), .run = config});
  auto losses = std::make_shared<Losses>();
  auto batch = small.training_batch(5);
  estimator.train(one_batch(batch, true), {.steps = 2, .hooks = {losses}});
  Outcome out{losses->list, {}};
  for (const std::string& name : estimator.variable_names())
    out.variables[name] = estimator.variable_value(name);
  return out;
}

void expect_same(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(a.losses, b.losses);
  ASSERT_EQ(a.variables.size(), b.variables.size());
  for (const auto& [name, value] : a.variables)
    EXPECT_TRUE(identical(value, b.variables.at(name))) << name;
}

class RecomputeModels : public ::testing::TestWithParam<SmallModel> {};

// The others have the same blocks, more often.
std::vector<SmallModel> models_to_train() {
  auto models = every_model();
  std::erase_if(models, [](const SmallModel& m) { return m.large && m.name != "resnet18"; });
  return models;
}

TEST_P(RecomputeModels, TrainToTheSameBits) {
  const Recompute none{.automatic = false}, all{.scopes = {""}};
  for (Precision precision : {Precision::f32, Precision::bf16}) {
    SCOPED_TRACE(to_string(precision));
    RunConfig config = quiet();
    config.precision = precision;
    expect_same(train(GetParam(), config, none), train(GetParam(), config, all));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RecomputeModels, ::testing::ValuesIn(models_to_train()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace belfry::models
