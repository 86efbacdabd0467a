#pragma once
// The common parts of the tests of training on GPUs.

#include "../../../train/resuming_model.h"
#include "../../../train/training_testing.h"
#include "belfry/framework/backend/backend.h"

namespace belfry {

inline RunConfig on(const std::string& device) {
  RunConfig config = quiet();
  config.devices = {device};
  config.tf32 = false;
  return config;
}

/// Writes down what happens when; wants results now after every step that `now` divides.
class Recorder final : public Hook {
 public:
  explicit Recorder(std::int64_t now = 0) : now_(now) {}
  bool needs_result_now(HookContext&, std::int64_t step) override {
    return now_ > 0 && step % now_ == 0;
  }
  void before_step(StepRequest& request) override {
    events.push_back(concat("begin ", request.step + 1));
  }
  void after_step(const StepResult& result) override {
    events.push_back(concat("end ", result.step));
    losses.push_back(result.loss);
  }
  std::vector<std::string> events;
  std::vector<double> losses;

 private:
  std::int64_t now_;
};

/// Examples of `width` numbers for resuming_model (which takes 6) and its like, in batches of these
/// sizes, over and over.
inline InputFn digits(std::initializer_list<std::int64_t> rows = {8, 8, 8, 8, 8, 4},
                      std::int64_t width = 6) {
  std::vector<Features> batches;
  PhiloxStream random(philox_key(5, "digits"));
  for (std::int64_t n : rows) {
    Array x(Shape{n, width}, DType::f32), label(Shape{n}, DType::i64);
    for (std::int64_t r = 0; r < n; ++r) {
      label.span<std::int64_t>()[static_cast<std::size_t>(r)] = r % 4;
      for (std::int64_t i = 0; i < width; ++i)
        x.span<float>()[static_cast<std::size_t>(r * width + i)] =
            static_cast<float>(random.normal()) + static_cast<float>(r % 4);
    }
    batches.push_back({{"x", x}, {"label", label}});
  }
  return over_and_over(batches);
}

struct Trained {
  std::vector<double> losses;
  NamedArrays variables;
};

inline Trained train_on(const RunConfig& config, std::int64_t steps, std::int64_t now = 0,
                        const InputFn& input = digits(), const ModelFn& model = resuming_model) {
  TemporaryFolder folder;
  Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = config});
  auto recorder = std::make_shared<Recorder>(now);
  estimator.train(input, {.max_steps = steps, .hooks = {recorder}});
  Trained out{recorder->losses, {}};
  for (const std::string& name : estimator.variable_names())
    out.variables[name] = estimator.variable_value(name);
  return out;
}

inline void expect_same(const Trained& a, const Trained& b) {
  EXPECT_EQ(a.losses, b.losses);
  ASSERT_EQ(a.variables.size(), b.variables.size());
  for (const auto& [name, value] : a.variables)
    EXPECT_TRUE(identical(value, b.variables.at(name))) << name;
}

}  // namespace belfry
