#include "belfry/data/augment/composition.h"

#include <numeric>

#include "belfry/data/augment/definition.h"
#include "belfry/data/augment/random.h"
#include "belfry/data/augment/targets.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

struct Compose {
  std::vector<Augmentation> of{};
  BELFRY_FIELDS(of)
};

struct OneOf {
  std::vector<Augmentation> of{};
  std::vector<double> weights{};
  BELFRY_FIELDS(of, weights)
};

struct Sometimes {
  double probability = 1;
  std::vector<Augmentation> of{};
  BELFRY_FIELDS(probability, of)
};

void run(const Augmentation& step, Features& features, PhiloxStream& random) {
  features = step(std::move(features), random);
}

constexpr Definition<Compose> compose_definition{
    .name = "compose",
    .check = nullptr,
    .apply =
        [](const Compose& o, Features& features, PhiloxStream& random) {
          for (const Augmentation& step : o.of) run(step, features, random);
        },
    .prefix_errors = false};

void check_one_of(const OneOf& o) {
  require(!o.of.empty(), "there is nothing to choose from");
  if (o.weights.empty()) return;
  require(o.weights.size() == o.of.size(), "expected ", o.of.size(), " weights, one a choice, got ",
          o.weights.size());
  for (double weight : o.weights) require(weight >= 0, "weights are at least 0, got ", weight);
  double sum = std::accumulate(o.weights.begin(), o.weights.end(), 0.0);
  require(sum > 0 && sum < 1e300, "weights must have a sum above 0, got ", sum);
}

std::size_t draw_choice(const OneOf& o, PhiloxStream& random) {
  if (o.weights.empty()) return random.below(o.of.size());
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

constexpr Definition<OneOf> one_of_definition{
    .name = "one_of",
    .check = check_one_of,
    .apply = [](const OneOf& o, Features& features,
                PhiloxStream& random) { run(o.of[draw_choice(o, random)], features, random); },
    .prefix_errors = false};

constexpr Definition<Sometimes> sometimes_definition{
    .name = "sometimes",
    .check =
        [](const Sometimes& o) {
          check_probability(o.probability);
          require(o.of.size() == 1, "expected one augmentation, got ", o.of.size(),
                  "; make it one with compose");
        },
    .apply =
        [](const Sometimes& o, Features& features, PhiloxStream& random) {
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
  return sometimes_definition({.probability = probability, .of = {std::move(step)}});
}

}  // namespace belfry::data
