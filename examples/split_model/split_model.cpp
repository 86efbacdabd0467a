// A model that is larger than a device: a small 3-D U-Net that finds balls in noisy volumes, split
// over two device slots. Each logs the memory that it needs.

#include <belfry/data.h>
#include <belfry/framework.h>
#include <belfry/hooks.h>

#include "common/program.h"

using namespace belfry;

constexpr std::int64_t depth = 16, side = 32;  // of a volume

// A 3-D convolution in two: in each plane, then along the depth. x [n, d, h, w, c].
Tensor conv3d(Scope s, Tensor x, std::int64_t filters) {
  std::int64_t n = x.size(0), d = x.size(1), h = x.size(2), w = x.size(3);
  x = reshape(x, {n * d, h, w, x.size(4)});
  x = relu(conv2d(s / "plane", x, {.filters = filters, .kernel = 3}));
  x = reshape(x, {n, d, h * w, filters});
  x = relu(conv2d(s / "depth", x, {.filters = filters, .kernel = {3, 1}}));
  return reshape(x, {n, d, h, w, filters});
}

Tensor planes(Tensor x) { return reshape(x, {-1, x.size(2), x.size(3), x.size(4)}); }
Tensor volumes(Tensor x) { return reshape(x, {-1, depth, x.size(1), x.size(2), x.size(3)}); }

// The way down on slot 0, the way up on slot 1: only the skip connection and the bottom cross.
EstimatorSpec unet(Scope s, const Batch& batch, Mode mode) {
  Scope down = (s / "down").on(0), up = (s / "up").on(1);
  Tensor skip = conv3d(down / "b", conv3d(down / "a", batch["volume"], 8), 8);  // [n, d, h, w, 8]
  Tensor x = conv3d(down / "bottom", volumes(max_pool(planes(skip))), 16);
  x = conv2d(up / "narrow", planes(x), {.filters = 8, .kernel = 1});  // [n d, h / 2, w / 2, 8]
  x = volumes(resize_nearest(x, {.size = {side, side}}));
  x = conv3d(up / "a", concat({x, skip}, 4), 8);
  Tensor logits = dense(up / "out", x, {.units = 1});  // [n, d, h, w, 1]
  Tensor inside = greater(logits, constant(s.graph(), 0, DType::f32));
  if (mode == Mode::predict) return {.predictions = {{"inside", inside}}};
  Tensor truth = greater(batch["ball"], constant(s.graph(), 0.5, DType::f32));
  return {.loss = mean(sigmoid_cross_entropy(logits, batch["ball"])),
          .train = adam({.learning_rate = 3e-3}),
          .metrics = {{"accuracy", accuracy(truth, inside)}}};
}

// Volume `index`: a ball somewhere, and noise.
Features ball_in_noise(std::int64_t index, std::uint64_t seed) {
  PhiloxStream random(philox_key(seed, index));
  Array volume({depth, side, side, 1}, DType::f32), ball(volume.shape(), DType::f32);
  float radius = random.uniform(4, 7), z0 = random.uniform(5, 11);
  float y0 = random.uniform(8, 24), x0 = random.uniform(8, 24);
  for (std::int64_t i = 0; i < volume.elements(); ++i) {
    auto x = static_cast<float>(i % side) - x0, y = static_cast<float>(i / side % side) - y0;
    float z = static_cast<float>(i / side / side) - z0;
    float inside = x * x + y * y + z * z < radius * radius ? 1.0f : 0.0f;
    ball.span<float>()[static_cast<std::size_t>(i)] = inside;
    volume.span<float>()[static_cast<std::size_t>(i)] = inside + random.uniform(-1, 1);
  }
  return {{"volume", volume}, {"ball", ball}};
}

int main(int argc, char** argv) {
  examples::Options defaults{.max_steps = 200, .batch_size = 4};
  defaults.run.devices = {"cpu:0+cpu:1"};
  return examples::run(argc, argv, defaults, [](const auto& o) {
    auto balls = [&](std::int64_t count, std::uint64_t seed) {
      return data::indexed(count,
                           [seed](std::int64_t i, Features& out) { out = ball_in_noise(i, seed); });
    };
    Dataset train =
        balls(1000, o.run.seed) | data::repeat() | data::batch(o.batch_size) | data::prefetch();
    Dataset test = balls(8, o.run.seed + 1) | data::batch(4);
    Estimator finder({.model_fn = unet, .model_dir = o.model_dir, .run = o.run});
    TrainOptions training{.max_steps = o.max_steps,
                          .hooks = {hooks::accumulate(2), hooks::progress()}};
    if (o.plan) return examples::print_plan(finder, train, training);
    auto trained = finder.train(train, training);
    return examples::report(trained, finder.evaluate(test));
  });
}
