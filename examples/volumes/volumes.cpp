// A 3-D U-Net finds ellipsoids in noisy volumes, which are made when they are asked for. It is
// split over two devices, the way down on the first and the way up on the second; only the
// bottom and what skips it cross. Micro-batches keep both busy, and the plan says what each device
// needs.

#include <belfry/data.h>
#include <belfry/framework.h>
#include <belfry/hooks.h>
#include <belfry/models.h>

#include <array>

#include "common/program.h"

using namespace belfry;

// Volume `index`: two ellipsoids somewhere, which are a little lighter, and noise.
Features ellipsoids_in_noise(std::int64_t index, std::uint64_t seed) {
  constexpr std::array<std::int64_t, 3> size{16, 32, 32};
  struct Ellipsoid {
    std::array<float, 3> center, radius;
  };
  PhiloxStream random(philox_key(seed, index));
  std::array<Ellipsoid, 2> ellipsoids;
  for (auto& [center, radius] : ellipsoids)
    for (std::size_t axis = 0; axis < 3; ++axis) {
      center[axis] = random.uniform(0.2f, 0.8f) * size[axis];
      radius[axis] = random.uniform(3, 7);
    }
  Array image({size[0], size[1], size[2], 1}, DType::f32), mask(image.shape(), DType::f32);
  for (std::int64_t i = 0; i < image.elements(); ++i) {
    std::array<std::int64_t, 3> position{i / size[2] / size[1], i / size[2] % size[1], i % size[2]};
    float inside = 0;
    for (const auto& [center, radius] : ellipsoids) {
      float distance = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        float x = (position[axis] - center[axis]) / radius[axis];
        distance += x * x;
      }
      if (distance < 1) inside = 1;
    }
    mask.span<float>()[i] = inside;
    image.span<float>()[i] = inside + random.uniform(-1.5f, 1.5f);
  }
  return {{"image", image}, {"mask", mask}};
}

Dataset volumes(std::int64_t count, std::uint64_t seed) {
  return data::indexed(
      count, [seed](std::int64_t i, Features& out) { out = ellipsoids_in_noise(i, seed); });
}

int main(int argc, char** argv) {
  examples::Options defaults{
      .about = "A 3-D U-Net, split over two devices, finds ellipsoids in noisy volumes.",
      .max_steps = 200,
      .batch_size = 4};
  defaults.run.devices = {"cpu:0+cpu:1"};
  return examples::run(argc, argv, defaults, [](const auto& o) {
    Dataset train = volumes(1000, o.run.seed)
                    | data::map(data::flip3d({.masks = {"mask"}}),
                                {.workers = data::autotune, .seed = o.run.seed})
                    | data::repeat() | data::batch(o.batch_size) | data::prefetch();
    Dataset test = volumes(8, o.run.seed + 1) | data::batch(4);
    bool by_hand = o.run.split.devices == 0;  // else RunConfig says that it is cut
    Estimator finder({.model_fn = models::unet3d({.depth = 2,
                                                  .filters = 8,
                                                  .optimizer = adam({.learning_rate = 3e-3}),
                                                  .slot_of_way_up = by_hand ? 1 : 0}),
                      .model_dir = o.model_dir,
                      .run = o.run});
    TrainOptions training{.max_steps = o.max_steps,
                          .hooks = {hooks::accumulate(2), hooks::progress()}};
    if (o.plan) return examples::print_plan(o, finder, train, training);
    if (o.summary) return examples::print_summary(finder, train);
    log_info(finder.plan(train, training));
    auto trained = finder.train(train, training);
    auto evaluated = finder.evaluate(test);
    return examples::Results{{"dice", evaluated.at("dice")},
                             {"loss", evaluated.at("loss")},
                             {"global_step", evaluated.at("global_step")},
                             {"examples_per_second", trained.examples_per_second}};
  });
}
