#include "model.h"

#include <cmath>
#include <numbers>
#include <random>

using namespace belfry;

Dataset moons(std::int64_t count, std::uint64_t seed) {
  return data::indexed(count, [seed](std::int64_t i, Features& out) {
    std::mt19937_64 random(seed * 1'000'003 + static_cast<std::uint64_t>(i));
    std::normal_distribution<float> noise(0, 0.1f);
    float angle = std::uniform_real_distribution<float>(0, std::numbers::pi_v<float>)(random);
    bool second = i % 2 == 1;
    float x = second ? 1 - std::cos(angle) : std::cos(angle);
    float y = second ? 0.5f - std::sin(angle) : std::sin(angle);
    out = {{"point", Array::of({x + noise(random), y + noise(random)})},
           {"label", Array::scalar<std::int64_t>(second)}};
  });
}

EstimatorSpec classifier(Scope s, const Batch& batch, Mode mode) {
  Tensor x = batch["point"];                             // [n, 2]
  x = relu(dense(s / "hidden1", x, {.units = 32}));      // [n, 32]
  x = relu(dense(s / "hidden2", x, {.units = 32}));      // [n, 32]
  Tensor logits = dense(s / "logits", x, {.units = 2});  // [n, 2]
  Tensor label = argmax(logits, 1);                      // [n]
  if (mode == Mode::predict) return {.predictions = {{"label", label}}};
  return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])),
          .train = adam({.learning_rate = 0.01}),
          .metrics = {{"accuracy", accuracy(batch["label"], label)}}};
}
