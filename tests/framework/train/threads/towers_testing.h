#pragma once
// Trainings on several towers, compared with those on one.

#include "../comparing.h"

namespace belfry {

constexpr std::int64_t classes = 3;

inline std::vector<Features> batches_of(const std::vector<std::int64_t>& rows) {
  std::vector<Features> out;
  for (std::size_t i = 0; i < rows.size(); ++i) out.push_back(labelled_rows(rows[i], i));
  return out;
}

inline RunConfig on(int towers) { return on_cpus(towers, 1); }

// Collects losses and values of every step.
class Curve final : public Hook {
 public:
  void after_step(const StepResult& step) override {
    losses.push_back(step.loss);
    values.push_back(step.values.empty() ? 0 : step.values[0].second);
    rows.push_back(step.rows);
  }
  std::vector<double> losses, values;
  std::vector<std::int64_t> rows;
};

struct Trained {
  NamedArrays variables;
  std::shared_ptr<Curve> curve = std::make_shared<Curve>();
};

inline Trained train(const ModelFn& model_fn, const RunConfig& config, const InputFn& input,
                     std::int64_t steps = 20, Hooks hooks = {}) {
  CapturedLog log;
  TemporaryFolder folder;
  Estimator estimator({.model_fn = model_fn, .model_dir = folder.path(), .run = config});
  Trained out;
  hooks.push_back(out.curve);
  estimator.train(input, {.max_steps = steps, .hooks = hooks});
  for (const std::string& name : estimator.variable_names())
    out.variables[name] = estimator.variable_value(name);
  return out;
}

inline const std::vector<std::int64_t> uneven_rows = {12, 7, 12, 2, 5, 1};

}  // namespace belfry
