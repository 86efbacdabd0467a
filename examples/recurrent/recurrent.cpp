// How much carbon dioxide will there be in half a year? An LSTM reads two years of weekly
// measurements, some of them missing, and forecasts one; beside it, what was measured a year before
// that. Without --data_dir, on a made-up series.

#include <belfry/data.h>
#include <belfry/framework.h>
#include <belfry/hooks.h>
#include <belfry/models.h>

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "common/program.h"

using namespace belfry;

constexpr std::int64_t past = 104, ahead = 26, year = 52;  // weeks
constexpr float unit = 5;                                  // parts per million
constexpr float missing = std::numeric_limits<float>::quiet_NaN();

std::vector<float> measured(const std::string& folder) {
  Dataset rows = data::csv({folder + "/co2.csv"},
                           {{.name = "co2", .type = data::CsvType::f32, .default_value = "nan"}});
  std::vector<float> series;
  for (const Features& row : rows) series.push_back(static_cast<float>(row.at("co2").item()));
  return series;
}

// A trend, seasons and noise; every fortieth week is missing.
std::vector<float> made_up() {
  std::vector<float> series;
  PhiloxStream random(philox_key(1, "series"));
  for (int week = 0; week < 1200; ++week) {
    double season = 3 * std::sin(6.2832 * week / year);
    bool there = week % 40 != 7;
    series.push_back(there ? static_cast<float>(315 + 0.025 * week + season + 0.3 * random.normal())
                           : missing);
  }
  return series;
}

// A forecast for every week that was measured, and whose last year was: differences from the last
// week that was measured before. Zeros stand for what is missing, and a mark beside them.
struct Examples {
  std::vector<float> x, label, naive;  // [n, past, 2], [n], [n]
  std::int64_t size() const { return std::ssize(label); }

  void add(const std::vector<float>& series, std::int64_t target) {
    std::int64_t now = target - ahead;
    float last = missing;
    for (std::int64_t week = now - past + 1; week <= now; ++week)
      if (!std::isnan(series[week])) last = series[week];
    float before = series[target - year];
    if (std::isnan(series[target]) || std::isnan(before) || std::isnan(last)) return;
    for (std::int64_t week = now - past + 1; week <= now; ++week) {
      bool there = !std::isnan(series[week]);
      x.insert(x.end(), {there ? (series[week] - last) / unit : 0.0f, there ? 1.0f : 0.0f});
    }
    label.push_back((series[target] - last) / unit);
    naive.push_back((before - last) / unit);
  }
  Dataset dataset() const {
    return data::from_arrays({{"x", Array::of(std::span<const float>(x), {size(), past, 2})},
                              {"label", Array::of(std::span<const float>(label), {size()})}});
  }
};

// Error: of the mean square, in parts per million.
double error_of(double mean_square) { return unit * std::sqrt(mean_square); }

int main(int argc, char** argv) {
  examples::Options defaults{
      .about = "Forecasts carbon dioxide from weekly measurements by an LSTM.",
      .data = "co2.csv",
      .max_steps = 1500,
      .batch_size = 32};
  return examples::run(argc, argv, defaults, [](const auto& o) {
    std::vector<float> series = o.data_dir.empty() ? made_up() : measured(o.data_dir);
    Examples train, held_out;  // the last eighth is held out
    std::int64_t weeks = std::ssize(series), first_held_out = weeks - weeks / 8;
    for (std::int64_t target = past + ahead; target < weeks; ++target)
      (target < first_held_out ? train : held_out).add(series, target);
    Dataset batches = train.dataset() | data::shuffle(train.size(), {.seed = o.run.seed})
                      | data::repeat() | data::batch(o.batch_size) | data::prefetch();
    Estimator estimator(
        {.model_fn = models::rnn(
             {.units = 32,
              .head = models::regression_head(),
              .optimizer = adam({.learning_rate = cosine_decay(
                                     {.initial = 0.005, .decay_steps = o.max_steps})})}),
         .model_dir = o.model_dir,
         .run = o.run});
    TrainOptions training{.max_steps = o.max_steps, .hooks = {hooks::progress()}};
    if (o.plan) return examples::print_plan(o, estimator, batches, training);
    if (o.summary) return examples::print_summary(estimator, batches);
    TrainResult trained = estimator.train(batches, training);
    double naive = 0;
    for (std::int64_t i = 0; i < held_out.size(); ++i)
      naive += std::pow(held_out.naive[i] - held_out.label[i], 2) / held_out.size();
    EvalResult found = estimator.evaluate(held_out.dataset() | data::batch(256));
    return examples::Results{{"error", error_of(found.at("average_loss"))},
                             {"error_of_last_year", error_of(naive)},
                             {"forecasts", static_cast<double>(held_out.size())},
                             {"global_step", static_cast<double>(trained.global_step)},
                             {"examples_per_second", trained.examples_per_second}};
  });
}
