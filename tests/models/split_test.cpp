// Models that auto_split cuts: what each device needs, and what they learn.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../framework/base/temporary_folder.h"
#include "belfry/models/unet/unet.h"
#include "every_model.h"

namespace belfry::models {
namespace {

using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Outcome {
  std::string error;
  std::vector<double> losses;
  std::vector<std::int64_t> bytes;  // that it has in use on each device
};

RunConfig on(int devices_each) {
  RunConfig config = quiet();
  config.devices = {"cpu:0"};
  for (int s = 1; s < devices_each; ++s) config.devices[0] += "+cpu:" + std::to_string(s);
  if (devices_each > 1) config.split = auto_split(devices_each);
  config.threads = 1;
  config.recompute.automatic = false;
  return config;
}

Outcome train(const ModelFn& model, const Features& batch, const RunConfig& config,
              int devices_each) {
  struct Losses final : Hook {
    void after_step(const StepResult& result) override { list.push_back(result.loss); }
    std::vector<double> list;
  };
  TemporaryFolder folder;
  std::vector<std::shared_ptr<Device>> devices;
  std::vector<std::int64_t> before;
  for (int s = 0; s < devices_each; ++s) {
    devices.push_back(find_device("cpu:" + std::to_string(s)));
    before.push_back(devices.back()->memory_in_use().count);
  }
  Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = config});
  auto losses = std::make_shared<Losses>();
  Outcome out;
  try {
    auto training = estimator.start(one_batch(batch, true), {.steps = 3, .hooks = {losses}});
    training.run();
    for (std::size_t s = 0; s < devices.size(); ++s)
      out.bytes.push_back(devices[s]->memory_in_use().count - before[s]);
  } catch (const Error& error) {
    out.error = error.what();
  }
  out.losses = losses->list;
  return out;
}

class SplitUnet : public ::testing::Test {
 protected:
  SplitUnet() {
    Array image(Shape{1, 32, 32, 32, 1}, DType::f32), mask(image.shape(), DType::f32);
    PhiloxStream random(philox_key(3, "volume"));
    for (float& x : image.span<float>()) x = random.uniform(-1, 1);
    for (float& x : mask.span<float>()) x = random.uniform(0, 1) < 0.3f ? 1.0f : 0.0f;
    batch = {{"image", image}, {"mask", mask}};
  }
  // Device limits are those of the process.
  ~SplitUnet() override {
    for (int s = 0; s < 8; ++s) {
      auto device = find_device("cpu:" + std::to_string(s));
      device->set_memory_limit(device->memory());
    }
  }

  ModelFn model = unet3d({.depth = 3, .filters = 16, .batch_norm = false});
  Features batch;
};

TEST_F(SplitUnet, TrainsOnTwoDevicesOfLittleMoreThanHalf) {
  Outcome one = train(model, batch, on(1), 1);
  ASSERT_EQ(one.error, "");
  ASSERT_EQ(one.losses.size(), 3u);
  RunConfig two = on(2);
  two.memory_limit = Bytes(one.bytes[0] * 62 / 100);
  RunConfig alone = on(1);
  alone.memory_limit = two.memory_limit;
  EXPECT_THAT(train(model, batch, alone, 1).error, StartsWith("the step needs "));
  Outcome split = train(model, batch, two, 2);
  EXPECT_EQ(split.error, "");
  EXPECT_EQ(split.losses, one.losses);
}

TEST_F(SplitUnet, NoDeviceIsEmpty) {
  Outcome one = train(model, batch, on(1), 1);
  for (int devices_each : {4, 8}) {
    Outcome split = train(model, batch, on(devices_each), devices_each);
    ASSERT_EQ(split.error, "");
    EXPECT_EQ(split.losses, one.losses);
    EXPECT_THAT(split.bytes, Each(Gt(one.bytes[0] / 50))) << devices_each;
    EXPECT_LT(std::ranges::max(split.bytes), one.bytes[0] / 2) << devices_each;
  }
}

TEST_F(SplitUnet, ARefusalSaysWhatOtherWaysNeed) {
  Outcome one = train(model, batch, on(1), 1);
  RunConfig two = on(2);
  two.memory_limit = Bytes(one.bytes[0] * 52 / 100);
  // Without AVX-512 oneDNN computes bf16 by copies in f32, which need more.
  bool bf16_is_less = __builtin_cpu_supports("avx512bw");
  EXPECT_THAT(
      train(model, batch, two, 2).error,
      ::testing::AllOf(HasSubstr("The fullest device would need\n"),
                       HasSubstr(bf16_is_less ? " in bf16 (RunConfig::precision), which fits\n"
                                              : " less with optimizer slots in fewer bits")));
}

TEST_F(SplitUnet, ItsCheckpointIsThatOfAnUnsplitModel) {
  TemporaryFolder folder;
  RunConfig config = on(2);
  config.save_checkpoint = Steps(2);
  Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = config});
  estimator.train(one_batch(batch, true), {.steps = 2});
  double loss = estimator.evaluate(one_batch(batch, false)).at("loss");
  Estimator other({.model_fn = model, .model_dir = folder.path(), .run = on(1)});
  EXPECT_EQ(other.evaluate(one_batch(batch, false)).at("loss"), loss);
}

}  // namespace
}  // namespace belfry::models
