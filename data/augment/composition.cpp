#include "belfry/data/augment/composition.h"

#include <numeric>

#include "belfry/data/augment/definition.h"
#include "belfry/data/augment/random.h"
#include "belfry/data/augment/targets.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

struct Combination {
  std::vector<Augmentation> of{};
  std::vector<double> weights{};
  double probability = 1;
};

void run(const Augmentation& step, Features& features, PhiloxStream& random) {
  features = step(std::move(features), random);
}

constexpr Definition<Combination> compose_definition{
    .name = "compose",
    .fields = [](OptionFields& f, Combination& o) { f.field("of", o.of); },
    .check = nullptr,
    .apply =
        [](const Combination& o, Features& features, PhiloxStream& random) {
          for (const Augmentation& step : o.of) run(step, features, random);
        },
    .prefix_errors = false};

void check_one_of(const Combination& o) {
  require(!o.of.empty(), "there is nothing to choose from");
  if (o.weights.empty()) return;
  require(o.weights.size() == o.of.size(), "expected ", o.of.size(), " weights, one a choice, got ",
          o.weights.size());
  for (double weight : o.weights) require(weight >= 0, "weights are at least 0, got ", weight);
  double sum = std::accumulate(o.weights.begin(), o.weights.end(), 0.0);
  require(sum > 0 && sum < 1e300, "weights must have a sum above 0, got ", sum);
}

std::size_t draw_choice(const Combination& o, PhiloxStream& random) {
  if (o.weights.empty()) return static_cast<std::size_t>(random.below(o.of.size()));
  double left = random.uniform_double() * std::accumulate(o.weights.begin(), o.weights.end(), 0.0);
  std::size_t last = 0;  // rounding may leave a little beyond the last choice
  for (std::size_t i = 0; i < o.weights.size(); ++i) {
    if (o.weights[i] == 0) continue;
    last = i;
    left -= o.weights[i];
    if (left < 0) break;
  }
  return last;
}

constexpr Definition<Combination> one_of_definition{
    .name = "one_of",
    .fields =
        [](OptionFields& f, Combination& o) {
          f.field("of", o.of);
          f.field("weights", o.weights);
        },
    .check = check_one_of,
    .apply = [](const Combination& o, Features& features,
                PhiloxStream& random) { run(o.of[draw_choice(o, random)], features, random); },
    .prefix_errors = false};

constexpr Definition<Combination> sometimes_definition{
    .name = "sometimes",
    .fields =
        [](OptionFields& f, Combination& o) {
          f.field("probability", o.probability);
          f.field("of", o.of);
        },
    .check =
        [](const Combination& o) {
          check_probability(o.probability);
          require(o.of.size() == 1, "expected one augmentation, got ", o.of.size(),
                  "; make it one with compose");
        },
    .apply =
        [](const Combination& o, Features& features, PhiloxStream& random) {
          if (draw_event(o.probability, random)) run(o.of[0], features, random);
        },
    .prefix_errors = false};

const Registered registered{compose_definition, one_of_definition, sometimes_definition};

}  // namespace

Augmentation compose(std::vector<Augmentation> steps) {
  return compose_definition({.of = std::move(steps)});
}

Augmentation one_of(std::vector<Augmentation> choices, std::vector<double> weights) {
  return one_of_definition({.of = std::move(choices), .weights = std::move(weights)});
}

Augmentation sometimes(double probability, Augmentation step) {
  return sometimes_definition({.of = {std::move(step)}, .probability = probability});
}

}  // namespace belfry::data
