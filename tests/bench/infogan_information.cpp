// How much the categories that an InfoGAN finds by itself say of the digits that it draws.
//
//   infogan_information --data_dir MNIST [--rounds N] [--seed N] [--filters N] [--threads N]
//
// Prints the mutual information in nats of the category that was asked for and the digit that a
// LeNet sees, over 5,000 generated images; of ten equally frequent digits that are told by their
// category alone it is log 10 = 2.30.

#include <algorithm>
#include <cmath>
#include <memory>

#include "arguments.h"
#include "belfry/data/data.h"
#include "belfry/models/models.h"

namespace belfry {
namespace {

constexpr std::int64_t classes = 10;

// [28, 28, 1] in 0..1 to [32, 32, 1] in -1..1, as tanh has it.
Features framed(const Features& digit) {
  Array from = digit.at("image"), to(Shape{32, 32, 1}, DType::f32);
  std::ranges::fill(to.span<float>(), -1.0f);
  for (std::size_t i = 0; i < 28 * 28; ++i)
    to.span<float>()[(i / 28 + 2) * 32 + i % 28 + 2] = 2 * from.span<float>()[i] - 1;
  return {{"image", to}, {"label", digit.at("label")}};
}

Dataset digits(const std::string& dir, std::uint64_t seed) {
  return data::mnist(dir, data::Split::train) | data::map(framed)
         | data::shuffle(60'000, {.seed = seed}) | data::repeat() | data::batch(64)
         | data::prefetch();
}

// How often each digit is seen, by category: [category * classes + digit].
std::vector<double> seen_by_category(Estimator& infogan, Estimator& lenet) {
  std::vector<double> counts(classes * classes);
  Array category(Shape{5000}, DType::i64);
  for (std::int64_t i = 0; i < 5000; ++i) category.span<std::int64_t>()[i] = i % classes;
  Dataset asked = data::from_arrays({{"category", category}}) | data::batch(250);
  Features seen;
  auto images =
      data::generator([rows = std::make_shared<Predictions>(infogan.predict(asked)),
                       drawn = Features()](std::stop_token) mutable -> std::optional<Features> {
        if (!rows->next(drawn)) return std::nullopt;
        return Features{{"image", drawn.at("generated")}};
      });
  Predictions predictions = lenet.predict(images | data::batch(250));
  for (std::size_t i = 0; predictions.next(seen); ++i)
    counts[i % classes * classes + static_cast<std::size_t>(seen.at("class").item())] += 1;
  return counts;
}

double information(const std::vector<double>& counts) {
  std::vector<double> rows(classes), columns(classes);
  double all = 0, sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    rows[i / classes] += counts[i];
    columns[i % classes] += counts[i];
    all += counts[i];
  }
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0)
      sum += counts[i] * std::log(counts[i] * all / (rows[i / classes] * columns[i % classes]));
  return sum / all;
}

void run(int argc, char** argv) {
  std::string data_dir;
  gan::InfoganOptions options;
  std::int64_t rounds = 2700, seed = 1;
  int threads = 0;
  bench::read_options(argc, argv,
                      {{"--data_dir", &data_dir},
                       {"--rounds", &rounds},
                       {"--seed", &seed},
                       {"--filters", &options.networks.filters},
                       {"--threads", &threads}});
  RunConfig config;
  config.seed = static_cast<std::uint64_t>(seed);
  config.threads = threads;
  config.save_checkpoint = std::nullopt;
  Estimator lenet({.model_fn = models::lenet({.hidden = 128}), .run = config});
  lenet.train(digits(data_dir, config.seed), {.steps = 600});
  auto test = data::mnist(data_dir, data::Split::test) | data::map(framed) | data::batch(250);
  std::printf("the LeNet is right about %.2f %%\n", 100 * lenet.evaluate(test).at("accuracy"));
  Estimator infogan({.model_fn = gan::infogan(options), .run = config});
  for (std::int64_t done = 0; done < rounds; done += 900) {
    infogan.train(digits(data_dir, config.seed),
                  {.steps = std::min<std::int64_t>(900, rounds - done)});
    std::printf("seed %lld, round %lld: %.3f nats\n", static_cast<long long>(seed),
                static_cast<long long>(std::min(rounds, done + 900)),
                information(seen_by_category(infogan, lenet)));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace belfry

int main(int argc, char** argv) {
  return belfry::bench::run_program([&] { belfry::run(argc, argv); });
}
