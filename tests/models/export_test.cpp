// Every model, exported and loaded again, predicts what it predicts in the process, bit for bit.
#include <gmock/gmock.h>

#include "../framework/base/error_of.h"
#include "../framework/base/temporary_folder.h"
#include "belfry/framework/export/export_model.h"
#include "belfry/framework/export/predictor.h"
#include "every_model.h"

namespace belfry::models {
namespace {

class ExportedModel : public testing::TestWithParam<SmallModel> {};

TEST_P(ExportedModel, PredictsAsInTheProcess) {
  const SmallModel& small = GetParam();
  TemporaryFolder dir;
  ModelFn model = make(small.name, small.options);
  std::string checkpoint = dir.path() + "/checkpoint.safetensors";
  write_checkpoint(checkpoint, random_checkpoint(model, small.batch(2)));
  std::string path = export_model(dir.path() + "/exports",
                                  {.model_fn = model,
                                   .checkpoint = checkpoint,
                                   .signatures = {{"predict", {.inputs = small.signature()}}}});
  Predictor predictor = Predictor::load(path, {.threads = 1});
  for (std::int64_t rows : {5, 1}) {
    Features batch = small.batch(rows);
    Estimator estimator({.model_fn = model, .model_dir = dir.path() + "/run", .run = quiet()});
    Features expected;
    ASSERT_TRUE(
        estimator.predict(one_batch(batch), {.single_examples = false, .checkpoint = checkpoint})
            .next(expected));
    Features found = predictor(batch);
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [name, value] : expected) {
      EXPECT_EQ(found.at(name).type(), value.type()) << name;
      EXPECT_TRUE(identical(found.at(name), value)) << name << " of " << rows << " rows";
    }
  }
}

// An export for any number of steps predicts what the model does that is built for this number.
class ExportedModelOfFreeSteps : public testing::TestWithParam<SmallModel> {};

TEST_P(ExportedModelOfFreeSteps, PredictsAsInTheProcess) {
  const SmallModel longest = GetParam().of_steps(8);
  TemporaryFolder dir;
  ModelFn model = make(longest.name, longest.options);
  write_checkpoint(checkpoint_path(dir.path(), 5), random_checkpoint(model, longest.batch(2)));
  Estimator estimator({.model_fn = model, .model_dir = dir.path(), .run = quiet()});
  ExportSignature signature{.inputs = longest.signature(), .free_steps = longest.free_steps};
  ExportOptions options{.signatures = {{"predict", signature}}};
  estimator.check_export(options);
  Predictor predictor =
      Predictor::load(estimator.export_model(dir.path() + "/exports", options), {.threads = 1});
  EXPECT_EQ(predictor.most_steps(), 8);
  for (std::int64_t steps : {8, 5, 1}) {
    for (std::int64_t rows : {1, 4}) {
      Features batch = longest.of_steps(steps).batch(rows), expected;
      ASSERT_TRUE(estimator.predict(one_batch(batch), {.single_examples = false}).next(expected));
      Features found = predictor(batch);
      ASSERT_EQ(found.size(), expected.size());
      for (const auto& [name, value] : expected)
        EXPECT_TRUE(identical(found.at(name), value)) << name << " of " << rows << " x " << steps;
    }
  }
  EXPECT_THAT(error_of([&] { predictor(longest.of_steps(9).batch(1)); }),
              testing::HasSubstr("the inputs have 9 steps; the export takes at most 8"));
}

class ExportedModelIn16Bits : public testing::TestWithParam<SmallModel> {};

TEST_P(ExportedModelIn16Bits, PredictsAsInTheProcess) {
  const SmallModel& small = GetParam();
  TemporaryFolder dir;
  ModelFn model = make(small.name, small.options);
  write_checkpoint(checkpoint_path(dir.path(), 5), random_checkpoint(model, small.batch(2)));
  RunConfig run = quiet();
  run.precision = Precision::bf16;
  run.seed = 11;
  Estimator estimator({.model_fn = model, .model_dir = dir.path(), .run = run});
  std::string path = estimator.export_model(
      dir.path() + "/exports",
      {.signatures = {{"predict", {.inputs = small.signature()}}}, .onnx = false});
  Features batch = small.batch(5), expected;
  ASSERT_TRUE(estimator.predict(one_batch(batch), {.single_examples = false}).next(expected));
  Features found = Predictor::load(path, {.threads = 1})(batch);
  for (const auto& [name, value] : expected) EXPECT_TRUE(identical(found.at(name), value)) << name;
}

// The large ones are in tests/python alone.
std::vector<SmallModel> small_models() {
  std::vector<SmallModel> models = every_model();
  std::erase_if(models, [](const SmallModel& m) { return m.large; });
  return models;
}

// One of each kind of layers.
std::vector<SmallModel> some_models() {
  std::vector<SmallModel> models = every_model();
  const std::vector<std::string> some{"lenet", "mobilenet_v2", "swin_tiny", "unet", "acoustic"};
  std::erase_if(models, [&](const SmallModel& m) {
    return std::find(some.begin(), some.end(), m.name) == some.end();
  });
  return models;
}

std::vector<SmallModel> models_of_steps() {
  std::vector<SmallModel> models = every_model();
  std::erase_if(models, [](const SmallModel& m) { return m.free_steps.empty(); });
  models.push_back({"gpt",
                    R"({"vocabulary": 9, "context": 8, "depth": 1, "width": 8, "heads": 2,
                        "kv_heads": 1, "block": "llama"})",
                    {{"token", {{6}, DType::i64}, 0, 9}, {"length", {{}, DType::i64}, 1, 7}},
                    false,
                    {"token"}});
  return models;
}

INSTANTIATE_TEST_SUITE_P(Every, ExportedModelOfFreeSteps, testing::ValuesIn(models_of_steps()),
                         [](const auto& info) { return concat(info.param.name, info.index); });
INSTANTIATE_TEST_SUITE_P(Some, ExportedModelIn16Bits, testing::ValuesIn(some_models()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Every, ExportedModel, testing::ValuesIn(small_models()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace belfry::models
