// A U-Net learns to tell cells from membranes. With --data_dir: folders image/ and label/ in it,
// pairs of the same name, 255 in a label being cell. Without, on cells that it draws.

#include <belfry/data.h>
#include <belfry/framework.h>
#include <belfry/hooks.h>
#include <belfry/models.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "common/program.h"

using namespace belfry;

// Picture `index` of cells: each pixel belongs to the nearest of 24 points, and where two are about
// as near there is a dark membrane, in noise.
Features drawn_cells(std::int64_t index, std::uint64_t seed) {
  constexpr std::int64_t side = 96;
  PhiloxStream random(philox_key(seed, index));
  std::array<std::array<float, 2>, 24> points;
  for (auto& [x, y] : points) x = random.uniform(0, side), y = random.uniform(0, side);
  Array image({side, side, 1}, DType::u8), mask(image.shape(), DType::u8);
  for (std::int64_t i = 0; i < side * side; ++i) {
    float nearest = std::numeric_limits<float>::infinity(), next = nearest;
    for (const auto& [x, y] : points) {
      float distance = std::hypot((i % side) - x, (i / side) - y);
      next = std::min(next, std::max(nearest, distance));
      nearest = std::min(nearest, distance);
    }
    bool cell = next - nearest > 3;
    image.span<std::uint8_t>()[i] =
        static_cast<std::uint8_t>((cell ? 140 : 80) + random.uniform(-60, 60));
    mask.span<std::uint8_t>()[i] = cell ? 255 : 0;
  }
  return {{"image", image}, {"mask", mask}};
}

Dataset pairs(const examples::Options& o) {
  if (o.data_dir.empty())
    return data::indexed(
        30, [seed = o.run.seed](std::int64_t i, Features& out) { out = drawn_cells(i, seed); });
  return data::image_masks(o.data_dir + "/image", o.data_dir + "/label",
                           {.image = {.channels = 1}});
}

// Augmentations that move pixels move those of the mask alike.
data::Augmentation augment(std::int64_t side) {
  const std::vector<std::string> masks{"mask"};
  return data::compose({data::crop({.height = side, .width = side, .masks = masks}),
                        data::flip_horizontal({.masks = masks}), data::rotate90({.masks = masks}),
                        data::elastic({.alpha = 300, .sigma = 10, .masks = masks}),
                        data::brightness({.factor = {0.8, 1.2}}),
                        data::contrast({.factor = {0.8, 1.2}})});
}

data::Augmentation as_numbers() {
  return data::compose(
      {data::normalize({.mean = {0.5}, .deviation = {0.2}}), data::to_float({.image = "mask"})});
}

// Over the image: membranes found in green, missed in blue, and red where there is none.
Array overlay(const Array& image, const Array& mask, const Array& found) {
  Array out({image.shape()[0], image.shape()[1], 3}, DType::u8);
  auto pixels = out.span<std::uint8_t>();
  for (std::int64_t i = 0; i < image.elements(); ++i) {
    bool truth = mask.at(i) == 0, guess = found.at(i) == 0;
    std::array<double, 3> color{guess && !truth ? 255.0 : 0, guess && truth ? 255.0 : 0,
                                truth && !guess ? 255.0 : 0};
    double fraction = truth || guess ? 0.5 : 0;
    for (std::size_t c = 0; c < 3; ++c)
      pixels[static_cast<std::size_t>(i) * 3 + c] =
          static_cast<std::uint8_t>((1 - fraction) * image.at(i) + fraction * color[c]);
  }
  return out;
}

void write_overlays(Estimator& estimator, const Dataset& pairs, const std::string& checkpoint) {
  std::vector<Array> overlays;
  InputStreamPtr stream = pairs.open();
  Features pair;
  for (const Features& p : estimator.predict(pairs | data::map(as_numbers()) | data::batch(1),
                                             {.checkpoint = checkpoint})) {
    ensure(stream->next(pair), "there are more predictions than images");
    overlays.push_back(overlay(pair.at("image"), pair.at("mask"), p.at("mask")));
  }
  std::string path = estimator.model_dir() + "/overlays.png";
  write_file_atomically(path, data::encode_png(data::image_grid(overlays, {.columns = 3})));
  log_info("drew ", path);
}

int main(int argc, char** argv) {
  examples::Options defaults{
      .about = "A U-Net learns to tell cells from membranes.",
      .data = "pairs of one name in image/ and label/, 255 in a label being cell",
      .max_steps = 800,
      .batch_size = 4};
  return examples::run(argc, argv, defaults, [](const auto& o) {
    Dataset train = pairs(o) | data::take(24) | data::cache()
                    | data::shuffle(24, {.seed = o.run.seed}) | data::repeat()
                    | data::map(augment(o.data_dir.empty() ? 64 : 256),
                                {.workers = data::autotune, .seed = o.run.seed})
                    | data::map(as_numbers()) | data::batch(o.batch_size) | data::prefetch();
    Dataset held_out = pairs(o) | data::skip(24);
    Dataset test = held_out | data::map(as_numbers()) | data::batch(2);
    Schedule rate = cosine_decay({.initial = 2e-3, .decay_steps = o.max_steps});
    Estimator segmenter(
        {.model_fn = models::unet(
             {.filters = 16, .positive_weight = {0.5}, .optimizer = adam({.learning_rate = rate})}),
         .model_dir = o.model_dir,
         .run = o.run});
    auto stop_early = hooks::validate(segmenter, {.input_fn = test,
                                                  .every = Steps(100),
                                                  .metric = "dice",
                                                  .better = Better::higher,
                                                  .early_stopping = {.patience = 5},
                                                  .keep_best = 1});
    TrainOptions training{.max_steps = o.max_steps, .hooks = {stop_early, hooks::progress()}};
    if (o.plan) return examples::print_plan(o, segmenter, train, training);
    if (o.summary) return examples::print_summary(segmenter, train);
    auto trained = segmenter.train(train, training);
    auto best = hooks::best_checkpoint(segmenter.model_dir());
    require(best.has_value(), "training stopped at step ", trained.global_step,
            " before an evaluation kept a best checkpoint in ", segmenter.model_dir(),
            "/best; go on with the same --model_dir");
    write_overlays(segmenter, held_out, *best);
    auto evaluated = segmenter.evaluate(test, {.checkpoint = *best});
    return examples::Results{{"cell_dice", evaluated.at("dice")},
                             {"membrane_dice", evaluated.at("background_dice")},
                             {"best_step", evaluated.at("global_step")},
                             {"global_step", static_cast<double>(trained.global_step)}};
  });
}
