#pragma once
// Common parts of the tests of GANs: small networks for x [n, 2], data, runs to compare.

#include <memory>
#include <string>
#include <vector>

#include "../../framework/base/temporary_folder.h"
#include "../models_support.h"
#include "belfry/framework/distribute/variables.h"
#include "belfry/models/gan/gan.h"

namespace belfry::gan {

/// x [n, 2] from one normal number a row.
inline Tensor generate(Scope s, const Batch& batch, Mode) {
  Tensor z = random_normal(s, {batch.rows(), 1});
  return dense(s / "out", relu(dense(s / "hidden", z, {.units = 8})), {.units = 2});
}
/// A hidden layer with dropout.
inline Tensor criticise(Scope s, Tensor x, const Batch&, Mode mode) {
  Tensor h = leaky_relu(dense(s / "hidden", x, {.units = 8}));
  h = dropout(s / "drop", h, {.rate = 0.25f, .training = mode == Mode::train});
  return dense(s / "logit", h, {.units = 1});
}

/// Batches of x [rows, ...], each element from a uniform distribution between 3 and 4 (those of
/// even number) or -1 and 0, and more features of such numbers.
inline InputFn batches_of(std::int64_t rows, std::vector<std::string> features = {"x"},
                          std::vector<std::int64_t> row = {2}, DType dtype = DType::f32) {
  struct Stream final : InputStream {
    bool next(Features& batch) override {
      batch = {};
      for (const std::string& name : features) {
        Array x(shape, DType::f32);
        PhiloxStream random(philox_key(static_cast<std::uint64_t>(number), name));
        std::int64_t i = 0;
        for (float& value : x.span<float>())
          value = (i++ % 2 == 0 ? 3.0f : -1.0f) + random.uniform();
        batch.set(name, x.cast(dtype));
      }
      ++number;
      return true;
    }
    std::string save() const override { return concat(number); }
    void restore(const std::string& at) override { number = std::stoll(at); }
    Shape shape;
    DType dtype = DType::f32;
    std::vector<std::string> features;
    std::int64_t number = 0;
  };
  row.insert(row.begin(), rows);
  return [=] {
    auto stream = std::make_unique<Stream>();
    stream->shape = Shape(row), stream->features = features, stream->dtype = dtype;
    return stream;
  };
}

/// Sub-steps as letters: g, d or b (both), each with a - if it takes the batch of the one before.
inline std::string letters(const std::vector<SubStep>& round) {
  std::string out;
  for (const SubStep& part : round)
    out += concat(part.updates == UpdateSet{0}   ? "g"
                  : part.updates == UpdateSet{1} ? "d"
                                                 : "b",
                  part.fresh_batch ? "" : "-");
  return out;
}

/// models::quiet() on so many CPU towers.
inline RunConfig on_towers(int towers) {
  RunConfig run = models::quiet();
  run.devices.clear();
  for (int t = 0; t < towers; ++t) run.devices.push_back(concat("cpu:", t));
  return run;
}

/// All variables at the end of training.
struct TakeVariables final : Hook {
  void end(HookContext& context, Outcome) override {
    for (const std::string& name : context.variables().names())
      values[name] = context.variables().read(name);
  }
  std::map<std::string, Array> values;
};

/// All variables after so many steps in a fresh folder.
inline std::map<std::string, Array> variables_after(const ModelFn& model, const InputFn& input,
                                                    std::int64_t steps,
                                                    const RunConfig& run = models::quiet(),
                                                    Hooks hooks = {}) {
  TemporaryFolder folder;
  auto taken = std::make_shared<TakeVariables>();
  hooks.push_back(taken);
  Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = run});
  estimator.train(input, {.steps = steps, .hooks = hooks});
  return taken->values;
}

/// Checks that 2 and 3 towers come to the same as one, within rounding.
inline void expect_towers_are_one(const ModelFn& model, const InputFn& input, std::int64_t steps,
                                  double allowed = 1e-6) {
  auto one = variables_after(model, input, steps);
  for (int towers : {2, 3}) {
    auto several = variables_after(model, input, steps, on_towers(towers));
    for (const auto& [name, a] : one)
      for (std::int64_t i = 0; i < a.elements(); ++i)
        ASSERT_NEAR(a.at(i), several.at(name).at(i), allowed * std::max(1.0, std::abs(a.at(i))))
            << name << " on " << towers;
  }
}

/// Checks that twice `steps` with a new process between them come to the same as without one.
inline void expect_resumes_to_the_bit(const ModelFn& model, const InputFn& input,
                                      std::int64_t steps, RunConfig run = models::quiet()) {
  auto undisturbed = variables_after(model, input, 2 * steps, run);
  run.save_checkpoint = Steps(1000);
  TemporaryFolder folder;
  auto taken = std::make_shared<TakeVariables>();
  for (std::int64_t last : {steps, 2 * steps}) {
    Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = run});
    estimator.train(input, {.max_steps = last, .hooks = {taken}});
  }
  for (const auto& [name, value] : undisturbed)
    EXPECT_TRUE(identical(taken->values.at(name), value)) << name;
}

}  // namespace belfry::gan
