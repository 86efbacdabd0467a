#include <algorithm>
#include <cmath>
#include <limits>

#include "belfry/data/combine/combine.h"
#include "belfry/data/combine/mixture.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

class SampleFrom final : public Mixture {
 public:
  SampleFrom(const std::vector<Dataset>& datasets, std::vector<double> weights,
             const SampleOptions& options, const Pass& pass)
      : Mixture(datasets, options.stop_on_empty, pass),
        weights_(std::move(weights)),
        seed_(options.seed),
        key_(philox_key(pass.key(options.seed, "sample_from").value, pass.epoch)) {}

  void position(Position& at) override {
    at.constant("sample_from.seed", seed_);
    Mixture::position(at);
  }

 private:
  std::int64_t choose(std::int64_t step) override {
    auto weight = [&](std::int64_t i) { return has_ended(i) ? 0.0 : weights_[i]; };
    double sum = 0;
    for (std::int64_t i = 0; i < inputs(); ++i) sum += weight(i);
    double left = PhiloxStream(key_, step).uniform_double() * sum;
    std::int64_t choice = none;
    for (std::int64_t i = 0; i < inputs(); ++i) {
      if (weight(i) == 0) continue;
      choice = i;  // also the last one, should rounding leave something
      left -= weight(i);
      if (left < 0) break;
    }
    return choice;
  }

  std::vector<double> weights_;
  std::uint64_t seed_;
  PhiloxKey key_;
};

// Equal ones if there are none; the largest is 1, so that no sum overflows.
std::vector<double> checked_weights(const SampleOptions& options, std::size_t datasets) {
  if (options.weights.empty()) return std::vector<double>(datasets, 1.0);
  std::vector<double> weights = options.weights;
  require(weights.size() == datasets, "sample_from: ", datasets, " datasets, but ", weights.size(),
          " weights");
  for (double w : weights)
    require(std::isfinite(w) && w >= 0, "sample_from: weights must be finite and at least 0, got ",
            w);
  double largest = *std::max_element(weights.begin(), weights.end());
  require(largest > 0, "sample_from: at least one weight must be above 0");
  for (double& w : weights) w /= largest;
  return weights;
}

std::int64_t cardinality(const std::vector<Dataset>& datasets, const std::vector<double>& weights,
                         bool stop_on_empty) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < datasets.size(); ++i) {
    std::int64_t n = weights[i] == 0 ? 0 : datasets[i].cardinality();
    if (sum == infinite || n == infinite)
      sum = infinite;
    else if (sum == unknown || n == unknown)
      sum = unknown;
    else
      sum = n > std::numeric_limits<std::int64_t>::max() - sum ? infinite : sum + n;
  }
  return stop_on_empty && sum > 0 ? unknown : sum;
}

}  // namespace

Dataset sample_from(std::vector<Dataset> datasets, SampleOptions options) {
  require(!datasets.empty(), "sample_from: needs at least one dataset");
  std::vector<double> weights = checked_weights(options, datasets.size());
  DatasetInfo info{.cardinality = cardinality(datasets, weights, options.stop_on_empty)};
  for (std::size_t i = weights.size(); i-- > 0;) {
    if (weights[i] > 0) continue;  // never drawn, and so not begun either
    datasets.erase(datasets.begin() + i);
    weights.erase(weights.begin() + i);
  }
  auto make = [=](const Pass& pass) {
    return std::make_unique<SampleFrom>(datasets, weights, options, pass);
  };
  return Dataset("sample_from", datasets, make, info);
}

}  // namespace belfry::data
