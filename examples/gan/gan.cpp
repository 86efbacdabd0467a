// A DCGAN learns to draw digits. Every tenth of the training it writes 64 of its own as PNG.

#include <belfry/data.h>
#include <belfry/framework.h>
#include <belfry/hooks.h>
#include <belfry/models.h>

#include <algorithm>

#include "common/program.h"

using namespace belfry;

// [28, 28, 1] in 0..1 to [32, 32, 1] in -1..1, as tanh has it.
Features framed(Features digit) {
  Array from = digit.at("image"), to(Shape{32, 32, 1}, DType::f32);
  std::ranges::fill(to.span<float>(), -1.0f);
  for (std::size_t i = 0; i < 28 * 28; ++i)
    to.span<float>()[(i / 28 + 2) * 32 + i % 28 + 2] = 2 * from.span<float>()[i] - 1;
  return {{"image", to}};
}

void write_grid(gan::GanEstimator& estimator, std::int64_t step) {
  auto any = [] { return data::from_arrays({{"number", Array::zeros({64})}}) | data::batch(64); };
  std::vector<Array> images;
  for (const Features& p : estimator.predict(any)) images.push_back(p.at("generated"));
  std::string path = concat(estimator.model_dir(), "/digits-", step, ".png");
  write_file_atomically(path, data::encode_png(data::image_grid(images, {.low = -1, .high = 1})));
  log_info("drew ", path);
}

int main(int argc, char** argv) {
  return examples::run(argc, argv, {.max_steps = 2000, .batch_size = 64}, [](const auto& o) {
    auto split = data::Split::train;
    Dataset digits =
        o.data_dir.empty() ? data::drawn_digits({.split = split}) : data::mnist(o.data_dir, split);
    Dataset train = digits | data::map(framed, {.workers = data::autotune})
                    | data::shuffle(10'000, {.seed = o.run.seed}) | data::repeat()
                    | data::batch(o.batch_size) | data::prefetch();
    gan::DcganOptions networks{.filters = 32};
    gan::GanEstimator estimator({.gan = {.generator = gan::dcgan_generator(networks),
                                         .discriminator = gan::dcgan_discriminator(networks)},
                                 .model_dir = o.model_dir,
                                 .run = o.run});
    TrainOptions training{.max_steps = o.max_steps, .hooks = {hooks::progress()}};
    if (o.plan) return examples::print_plan(estimator, train, training);
    TrainResult trained;
    for (int tenth = 1; tenth <= 10; ++tenth) {
      training.max_steps = std::max<std::int64_t>(1, o.max_steps * tenth / 10);
      trained = estimator.train(train, training);
      write_grid(estimator, trained.global_step);
      if (trained.outcome == Outcome::stopped) break;
    }
    auto count = [&](auto name) { return estimator.variable_value(name).item(); };
    return examples::Results{{"discriminator_loss", trained.loss},
                             {"generator_step", count("generator_step")},
                             {"discriminator_step", count("discriminator_step")},
                             {"global_step", static_cast<double>(trained.global_step)}};
  });
}
