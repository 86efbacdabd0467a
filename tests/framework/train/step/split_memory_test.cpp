// A model that no device alone has the memory for, unless it computes its activations again.

#include "../comparing.h"
#include "belfry/framework/train/step/session.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::int64_t depth = 8, side = 16;

// A 3-D convolution in two steps, in the planes and then along the depth: x [n, d, h, w, c].
Tensor conv3d(const Scope& s, Tensor x, std::int64_t filters) {
  std::int64_t n = x.size(0), d = x.size(1), h = x.size(2), w = x.size(3);
  x = reshape(x, {n * d, h, w, x.size(4)});
  x = relu(conv2d(s / "plane", x, {.filters = filters, .kernel = 3}));
  x = reshape(x, {n, d, h * w, filters});
  x = relu(conv2d(s / "depth", x, {.filters = filters, .kernel = {3, 1}}));
  return reshape(x, {n, d, h, w, filters});
}

// Calls f on the planes, [n * d, h, w, c], of a volume.
template <class F>
Tensor in_planes(Tensor x, F f) {
  Tensor y = f(reshape(x, {x.size(0) * x.size(1), x.size(2), x.size(3), x.size(4)}));
  return reshape(y, {x.size(0), x.size(1), y.size(1), y.size(2), y.size(3)});
}

// A U-Net of two levels over volumes; the way up is on `device`.
ModelFn unet(int device) {
  return [device](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Scope down = s / "down", up = (s / "up").on(device);
    Tensor top = conv3d(down / "b", conv3d(down / "a", batch["volume"], 8), 8);
    Tensor x = in_planes(top, [](Tensor t) { return max_pool(t); });
    x = conv3d(down / "bottom", x, 16);
    Graph::PlacementGuard guard(s.graph(), up.placement());
    x = in_planes(x, [](Tensor t) { return resize_nearest(t, {.size = {side, side}}); });
    x = conv3d(up / "a", concat({x, top}, 4), 8);
    Tensor error = in_planes(x, [&](Tensor t) { return dense(up / "out", t, {.units = 1}); })
                   - batch["target"];
    return {.loss = mean(square(error)), .train = adam({.learning_rate = 1e-2})};
  };
}

// Balls in noise; the target is the ball.
Features volumes(std::int64_t rows) {
  Array volume(Shape{rows, depth, side, side, 1}, DType::f32), target(volume.shape(), DType::f32);
  PhiloxStream random(philox_key(1, "volumes"));
  auto v = volume.span<float>(), t = target.span<float>();
  for (std::size_t i = 0; i < v.size(); ++i) {
    auto at = static_cast<std::int64_t>(i);
    double x = at % side - 8.0, y = at / side % side - 8.0, z = at / side / side % depth - 4.0;
    t[i] = x * x + y * y + 4 * z * z < 36 ? 1.0f : 0.0f;
    v[i] = t[i] + random.uniform(-0.5f, 0.5f);
  }
  return {{"volume", volume}, {"target", target}};
}

class TooLargeForOneDevice : public ::testing::Test {
 protected:
  // "no error", or why training was refused.
  std::string train(const ModelFn& model, RunConfig config, Hooks hooks = {}) {
    struct Losses final : Hook {
      explicit Losses(std::vector<double>& list) : list(list) {}
      void after_step(const StepResult& step) override { list.push_back(step.loss); }
      std::vector<double>& list;
    };
    losses.clear();
    hooks.push_back(std::make_shared<Losses>(losses));
    config.memory_limit = limit;
    config.recompute.automatic = recomputes;
    TemporaryFolder folder;
    Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = config});
    return error_of(
        [&] { estimator.train(over_and_over({volumes(4)}), {.steps = 12, .hooks = hooks}); });
  }
  void expect_trained() {
    ASSERT_EQ(losses.size(), 12u);
    EXPECT_LT(losses.back(), 0.5 * losses.front());
  }

  Bytes limit{2816 << 10};  // of the 3.3 MiB that the whole model needs
  bool recomputes = false;
  std::vector<double> losses;
  CapturedLog log;
};

TEST_F(TooLargeForOneDevice, UnsplitItIsRefusedBeforeTheFirstStep) {
  std::string error = train(unet(0), on_cpus(1, 1));
  EXPECT_THAT(error, AllOf(StartsWith("the step needs "),
                           HasSubstr(" on cpu:0 but 2.8 MiB of 2.8 MiB are free"),
                           ContainsRegex("a batch of [123] instead of 4 would fit"),
                           HasSubstr("largest tensors:"), HasSubstr("up/a/")));
  EXPECT_TRUE(losses.empty());
}

TEST_F(TooLargeForOneDevice, ItTrainsThereIfActivationsAreComputedAgain) {
  recomputes = true;
  EXPECT_EQ(train(unet(0), on_cpus(1, 1)), "no error");
  expect_trained();
}

TEST_F(TooLargeForOneDevice, ItTrainsOnTwo) {
  EXPECT_EQ(train(unet(1), on_cpus(1, 2)), "no error");
  expect_trained();
}

TEST_F(TooLargeForOneDevice, ItTrainsOnTwoThatBelfryChooses) {
  RunConfig config = on_cpus(1, 2);
  config.split = auto_split(2);
  EXPECT_EQ(train(unet(0), config), "no error");
  expect_trained();
  EXPECT_THAT(log.info, HasSubstr("split for train: device 0: "));
}

// Each way to cut it is compiled by hand; within a limit that the leanest alone keeps, it is taken.
TEST_F(TooLargeForOneDevice, TheCutOfTheLeastNeedIsTaken) {
  RunConfig config = on_cpus(1, 2);
  config.split = auto_split(2);
  config.recompute.automatic = false;
  Signature signature = signature_of(volumes(4));
  auto fullest = [](const Session& session, const Model& model) {
    auto plan = session.planner().compile(model);
    return std::max(plan->plans[0]->bytes(), plan->plans[1]->bytes());
  };
  std::vector<std::int64_t> needs;
  {
    Session session(unet(0), config);
    ModelOptions options = session.planner().complete();
    Model first(unet(0), Mode::train, signature, {}, options);
    for (const SplitPlacement& choice : first.split_choices()) {
      options.split_placement = choice;
      needs.push_back(fullest(session, Model(unet(0), Mode::train, signature, {}, options)));
    }
    Model built = session.planner().build(Mode::train, signature, {}, session.planner().complete());
    EXPECT_LE(fullest(session, built), 1.05 * static_cast<double>(std::ranges::min(needs)));
  }
  ASSERT_GT(needs.size(), 1u);
  ASSERT_NE(std::ranges::min(needs), std::ranges::max(needs));
  config.memory_limit = Bytes(std::ranges::min(needs));
  Session session(unet(0), config);
  Model built = session.planner().build(Mode::train, signature, {}, session.planner().complete());
  EXPECT_EQ(fullest(session, built), std::ranges::min(needs));
}

TEST_F(TooLargeForOneDevice, TheFullDeviceIsNamed) {
  limit = Bytes(1536 << 10);
  EXPECT_THAT(train(unet(1), on_cpus(1, 2)),
              AllOf(StartsWith("the step needs "), ContainsRegex(" on cpu:[01] but 1.5 MiB of 1.5"),
                    ContainsRegex("a batch of [123] instead of 4 would fit")));
}

}  // namespace
}  // namespace belfry
