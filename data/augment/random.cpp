#include "belfry/data/augment/random.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace belfry::data {

double draw(Range range, PhiloxStream& random) {
  return range.low + (range.high - range.low) * random.uniform_double();
}

std::int64_t draw(WholeRange range, PhiloxStream& random) {
  auto count = static_cast<std::uint64_t>(range.high - range.low) + 1;
  return range.low + static_cast<std::int64_t>(random.below(count));
}

std::int64_t draw_below(std::int64_t bound, PhiloxStream& random) { return random.below(bound); }

bool draw_event(double probability, PhiloxStream& random) {
  return random.uniform_double() < probability;
}

std::vector<std::int64_t> draw_permutation(std::int64_t count, PhiloxStream& random) {
  std::vector<std::int64_t> out(count);
  std::iota(out.begin(), out.end(), 0);
  for (std::size_t left = out.size(); left > 1; --left)
    std::swap(out[left - 1], out[random.below(left)]);
  return out;
}

double draw_log_gamma(double shape, PhiloxStream& random) {
  if (shape < 1) {
    double u = 1.0 - random.uniform_double();  // in (0, 1]
    return draw_log_gamma(shape + 1, random) + std::log(u) / shape;
  }
  double d = shape - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    double x = random.normal();
    double root = 1.0 + c * x;
    double u = 1.0 - random.uniform_double();
    if (root <= 0) continue;
    double v = root * root * root;
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return std::log(d * v);
  }
}

double draw_beta(double a, double b, PhiloxStream& random) {
  double log_x = draw_log_gamma(a, random);
  double log_y = draw_log_gamma(b, random);
  return 1.0 / (1.0 + std::exp(log_y - log_x));
}

void fill_uniform(std::span<float> values, float low, float high, PhiloxStream& random) {
  for (float& value : values) value = random.uniform(low, high);
}

void fill_normal(std::span<float> values, PhiloxStream& random) {
  for (std::size_t i = 0; i < values.size(); i += 2) {
    float radius = std::sqrt(-2.0f * std::log(1.0f - random.uniform()));
    float angle = 2.0f * std::numbers::pi_v<float> * random.uniform();
    values[i] = radius * std::cos(angle);
    if (i + 1 < values.size()) values[i + 1] = radius * std::sin(angle);
  }
}

}  // namespace belfry::data
