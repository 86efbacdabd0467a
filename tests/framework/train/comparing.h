#pragma once
// Whole trainings, compared by the variables that they end with.

#include <cmath>

#include "belfry/framework/tensor/philox.h"
#include "training_testing.h"

namespace belfry {

/// A tower for each of `towers`, each of `devices_each` CPU devices, with one thread a device.
inline RunConfig on_cpus(int towers, int devices_each) {
  RunConfig config = saving_nothing();
  config.threads = 1;
  config.devices.clear();
  for (int t = 0; t < towers; ++t) {
    std::vector<std::string> names;
    for (int s = 0; s < devices_each; ++s) names.push_back("cpu:" + text(t * devices_each + s));
    config.devices.push_back(join(names, "+"));
  }
  return config;
}

/// The variables, slots included, after `steps` steps.
inline NamedArrays variables_after(const ModelFn& model_fn, const RunConfig& config,
                                   const InputFn& input, std::int64_t steps = 20,
                                   Hooks hooks = {}) {
  CapturedLog log;
  TemporaryFolder folder;
  Estimator estimator({.model_fn = model_fn, .model_dir = folder.path(), .run = config});
  estimator.train(input, {.max_steps = steps, .hooks = std::move(hooks)});
  NamedArrays out;
  for (const std::string& name : estimator.variable_names())
    out[name] = estimator.variable_value(name);
  return out;
}

/// The largest difference of two sets of variables, relative to the largest element of each.
inline double largest_difference(const NamedArrays& a, const NamedArrays& b) {
  double worst = 0;
  EXPECT_EQ(a.size(), b.size());
  for (const auto& [name, x] : a) {
    const Array& y = b.at(name);
    double scale = 1e-30, apart = 0;
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      scale = std::max(scale, std::abs(x.at(i)));
      apart = std::max(apart, std::abs(x.at(i) - y.at(i)));
    }
    worst = std::max(worst, apart / scale);
  }
  return worst;
}

inline void expect_identical(const NamedArrays& a, const NamedArrays& b) {
  EXPECT_EQ(a.size(), b.size());
  for (const auto& [name, x] : a) EXPECT_TRUE(identical(x, b.at(name))) << name;
}

/// A number of parts for each batch.
class AsksForMicroBatches final : public Hook {
 public:
  explicit AsksForMicroBatches(int count) : count_(count) {}
  int micro_batches() const override { return count_; }

 private:
  int count_;
};

/// Rows drawn from a seed: x [rows, features] and a label below `classes` each.
inline Features labelled_rows(std::int64_t rows, std::uint64_t seed, std::int64_t features = 6,
                              std::int64_t classes = 3) {
  PhiloxStream random(philox_key(seed, rows));
  Array x(Shape{rows, features}, DType::f32), label(Shape{rows}, DType::i64);
  for (float& v : x.span<float>()) v = random.uniform(-1, 1);
  for (std::int64_t& v : label.span<std::int64_t>())
    v = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(classes)));
  return {{"x", x}, {"label", label}};
}

}  // namespace belfry
