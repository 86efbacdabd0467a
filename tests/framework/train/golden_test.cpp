// Ten steps of LeNet from a fixed seed on fixed data: the losses are known.

#include <cstdlib>
#include <filesystem>

#include "belfry/data/data.h"
#include "belfry/framework/runtime/executable.h"
#include "training_testing.h"

namespace belfry {
namespace {

EstimatorSpec lenet(Scope s, const Batch& batch, Mode mode) {
  Tensor x = batch["image"];                                                 // [n, 28, 28, 1]
  x = max_pool(relu(conv2d(s / "conv1", x, {.filters = 32, .kernel = 5})));  // [n, 14, 14, 32]
  x = max_pool(relu(conv2d(s / "conv2", x, {.filters = 64, .kernel = 5})));  // [n, 7, 7, 64]
  x = relu(dense(s / "fc1", flatten(x), {.units = 1024}));                   // [n, 1024]
  x = dropout(s / "drop", x, {.rate = 0.4f, .training = mode == Mode::train});
  Tensor logits = dense(s / "fc2", x, {.units = 10});  // [n, 10]
  Tensor digit = argmax(logits, 1);                    // [n]
  if (mode == Mode::predict) return {.predictions = {{"digit", digit}}};
  return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])),
          .train = adam({.learning_rate = 1e-3f}),
          .metrics = {{"accuracy", accuracy(batch["label"], digit)}}};
}

constexpr std::int64_t rows = 4;

// A bright bar on noise; its place is the label.
std::vector<Features> bars() {
  std::vector<Features> batches;
  PhiloxStream random(philox_key(20, "bars"));
  for (int b = 0; b < 3; ++b) {
    Array image(Shape{rows, 28, 28, 1}, DType::f32), label(Shape{rows}, DType::i64);
    for (float& x : image.span<float>()) x = random.uniform(0, 0.5f);
    for (std::int64_t r = 0; r < rows; ++r) {
      auto digit = static_cast<std::int64_t>(random.below(10));
      label.span<std::int64_t>()[static_cast<std::size_t>(r)] = digit;
      for (std::int64_t y = 4; y < 24; ++y)
        for (std::int64_t x = 2 * digit + 3; x < 2 * digit + 6; ++x)
          image.span<float>()[static_cast<std::size_t>((r * 28 + y) * 28 + x)] += 0.5f;
    }
    batches.push_back({{"image", image}, {"label", label}});
  }
  return batches;
}

std::vector<double> losses(bool fast, const std::vector<Features>& data) {
  Graph graph;
  Batch batch(graph, signature_of(data[0]));
  EstimatorSpec spec = lenet(Scope(graph), batch, Mode::train);
  for (const Update& update : spec.train.list(spec.loss))
    apply_gradients(update, compute_gradients(update));
  VariableStore variables(find_device("cpu"));
  std::vector<Tensor> outputs{spec.loss};
  auto plan = compile(outputs, graph.effects(), variables.device(), {.fast = fast, .verify = true});
  Executable run(plan, variables, 1);
  std::vector<double> out;
  for (std::int64_t step = 0; step < 10; ++step) {
    run.run(data[static_cast<std::size_t>(step) % data.size()], {.seed = 1, .step = step});
    out.push_back(run.output(0).item());
  }
  return out;
}

// Those of the reference kernels, on bars().
const std::vector<double> golden = {2.28509903, 2.41630673, 1.95790803, 1.50338256, 2.20516515,
                                    1.31250608, 1.17289734, 2.20124555, 0.79317975, 0.96414292};

// Those of the reference kernels, on the first 40 digits of MNIST's training set, 4 a step.
const std::vector<double> golden_mnist = {2.30130577, 2.44864345, 2.10092711, 2.58402729,
                                          2.84499073, 2.03017449, 1.99598777, 2.36657381,
                                          2.29821539, 2.38868117};

// One step's f32 sums round to about sqrt(3136) 2^-24 = 3e-6 of their value, in another order each
// time; the fast kernels were seen to differ by 3e-7.
constexpr double allowed = 1e-5;

void expect_losses(const std::vector<Features>& data, const std::vector<double>& expected) {
  for (bool fast : {false, true}) {
    std::vector<double> seen = losses(fast, data);
    ASSERT_EQ(seen.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(seen[i], expected[i], allowed * expected[i])
          << "step " << i << (fast ? ", fast kernels" : ", reference kernels");
  }
}

TEST(Golden, TenStepsOfLeNet) { expect_losses(bars(), golden); }

TEST(Golden, TenStepsOfMnist) {
  const char* set = std::getenv("BELFRY_DATA_DIR");
  std::string dir = set ? set : BELFRY_SOURCE_DIR "/../shared/data";
  if (!std::filesystem::exists(dir + "/mnist"))
    GTEST_SKIP() << "no MNIST in " << dir << "; name its folder's parent in BELFRY_DATA_DIR";
  InputStreamPtr stream =
      data::mnist(dir + "/mnist", data::Split::train) | data::batch(4) | data::take(10);
  std::vector<Features> batches;
  for (Features batch; stream->next(batch);)
    batches.push_back({{"image", batch.at("image").clone()}, {"label", batch.at("label").clone()}});
  expect_losses(batches, golden_mnist);
}

TEST(Golden, TheEstimatorRunsTheVerySame) {
  struct Losses final : Hook {
    void after_step(const StepResult& r) override { seen.push_back(r.loss); }
    std::vector<double> seen;
  };
  TemporaryFolder dir;
  auto hook = std::make_shared<Losses>();
  Estimator estimator({.model_fn = lenet, .model_dir = dir.path(), .run = saving_nothing()});
  estimator.train(over_and_over(bars()), {.steps = 10, .hooks = {hook}});
  EXPECT_EQ(hook->seen, losses(true, bars()));
}

}  // namespace
}  // namespace belfry
