#pragma once
// Ten steps of LeNet from a fixed seed on fixed data, whose losses are known; for every device.

#include <cstdlib>
#include <filesystem>

#include "belfry/data/data.h"
#include "training_testing.h"

namespace belfry::golden {

inline EstimatorSpec lenet(Scope s, const Batch& batch, Mode mode) {
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

/// Three batches of four rows: a bright bar on noise, whose place is the label.
inline std::vector<Features> bars() {
  constexpr std::int64_t rows = 4;
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

/// The losses of the reference kernels on bars(), over and over.
inline const std::vector<double> losses_on_bars = {2.28509903, 2.41630673, 1.95790803, 1.50338256,
                                                   2.20516515, 1.31250608, 1.17289734, 2.20124555,
                                                   0.79317975, 0.96414292};

/// The folder with MNIST's four files; empty if it is not there, which `why` then explains.
inline std::string mnist_folder(std::string& why) {
  const char* set = std::getenv("BELFRY_DATA_DIR");
  std::string dir = set ? set : BELFRY_SOURCE_DIR "/../shared/data";
  if (std::filesystem::exists(dir + "/mnist")) return dir + "/mnist";
  why = "no MNIST in " + dir + "; name its folder's parent in BELFRY_DATA_DIR";
  return {};
}

/// The first 40 digits of MNIST's training set, four a batch.
inline std::vector<Features> mnist(const std::string& folder) {
  InputStreamPtr stream = data::mnist(folder, data::Split::train) | data::batch(4) | data::take(10);
  std::vector<Features> batches;
  for (Features batch; stream->next(batch);)
    batches.push_back({{"image", batch.at("image").clone()}, {"label", batch.at("label").clone()}});
  return batches;
}

/// The losses of the reference kernels on mnist().
inline const std::vector<double> losses_on_mnist = {2.30130577, 2.44864345, 2.10092711, 2.58402729,
                                                    2.84499073, 2.03017449, 1.99598777, 2.36657381,
                                                    2.29821539, 2.38868117};

/// The losses of `steps` steps of an Estimator.
inline std::vector<double> losses_of(const RunConfig& config, const std::vector<Features>& batches,
                                     std::int64_t steps) {
  struct Losses final : Hook {
    void after_step(const StepResult& r) override { seen.push_back(r.loss); }
    std::vector<double> seen;
  };
  TemporaryFolder dir;
  auto hook = std::make_shared<Losses>();
  Estimator estimator({.model_fn = lenet, .model_dir = dir.path(), .run = config});
  estimator.train(over_and_over(batches), {.steps = steps, .hooks = {hook}});
  return hook->seen;
}

/// Relative difference that the order of f32 sums makes. The longest sums of a step have 3136 terms
/// (fc1's products; a convolution's gradients over 4 x 28 x 28 places). Roundings to 24 bits that
/// know nothing of each other leave an error of sqrt(3136) 2^-24 = 3.3e-6 of such a sum, and in ten
/// steps sqrt(10) times as much: 1.05e-5, of which 1e-5 is allowed. Fused multiply-adds round less
/// often. Winograd's convolutions err by at most 1.9e-6 (cpu_winograd_test), less than the 3.3e-6
/// counted here. Factors rounded to 10 bits (TF32) are not allowed for.
///
/// Gradients altered at random by 3.3e-6 of their root mean square, with 16 seeds, moved the losses
/// by 3.0e-6 at most, but for the tenth on bars(), by 2.9e-5 in every second case: a ReLU or a pool
/// before it has nearly a tie, which falls either way.
constexpr double allowed = 1e-5;
/// So many of the losses on bars() are those of any device.
constexpr std::int64_t steps_without_ties = 9;

/// `seen` are the first of `expected`.
inline void expect_losses(const std::vector<double>& seen, const std::vector<double>& expected,
                          const std::string& where) {
  ASSERT_LE(seen.size(), expected.size());
  for (std::size_t i = 0; i < seen.size(); ++i)
    EXPECT_NEAR(seen[i], expected[i], allowed * expected[i]) << "step " << i << ", " << where;
}

}  // namespace belfry::golden
