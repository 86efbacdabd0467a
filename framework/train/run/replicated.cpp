#include "belfry/framework/train/replicated.h"

#include "belfry/framework/base/linked_stop.h"
#include "belfry/framework/train/predictions.h"
#include "belfry/framework/train/state/checkpoint_at.h"
#include "belfry/framework/train/step/session.h"

namespace belfry {
namespace {

class OneBatch final : public InputStream {
 public:
  explicit OneBatch(Features batch) : batch_(std::move(batch)) {}
  bool next(Features& batch) override {
    batch = std::move(batch_);
    return !std::exchange(taken_, true);
  }

 private:
  Features batch_;
  bool taken_ = false;
};

void check_inputs(const Features& inputs) {
  const std::string* first = nullptr;  // with axes
  for (const auto& [name, array] : inputs) {
    require(array.defined() || array.elements() == 0, "Replicated: input `", name,
            "` is undefined: an Array() without type and elements");
    if (array.shape().rank() == 0) continue;
    if (!first) first = &name;
    require(array.shape()[0] == inputs.at(*first).shape()[0], "Replicated: input `", name, "` is ",
            array.type(), " but `", *first, "` is ", inputs.at(*first).type(),
            "; all inputs have as many rows, or no axes (a scalar)");
  }
  require(row_count(inputs) > 0,
          "Replicated: the input has no rows: ", to_string(signature_of(inputs)));
}

// Shapes are known before anything runs; the rows are those of one device.
NamedTensors checked(NamedTensors results, std::int64_t rows) {
  for (const auto& [name, value] : results)
    require(value.rank() > 0 && value.size(0) == rows, "Replicated: result `", name, "` is ",
            value.type(), " for ", rows, rows == 1 ? " row" : " rows",
            "; it should have one row an example");
  return results;
}

}  // namespace

Replicated::Replicated(Forward forward, const RunConfig& run) {
  require(forward, "Replicated: there is no forward function");
  validate(run);
  session_ = std::make_shared<Session>(
      [forward = std::move(forward)](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
        return {.predictions = checked(forward(std::move(s), batch), batch.rows())};
      },
      run);
}

Features Replicated::operator()(const Features& inputs) {
  check_inputs(inputs);
  int devices = session_->towers().count();
  auto run = [&] {
    Predictions predictions(session_, std::make_unique<OneBatch>(inputs),
                            {.single_examples = false});
    Features results;
    predictions.next(results);
    return results;
  };
  std::string call = concat("in a call with ", to_string(signature_of(inputs)));
  return with_context(devices > 1 ? concat(call, ", split over ", devices, " devices") : call, run);
}

Array Replicated::operator()(const Array& input) {
  return (*this)(Features{{only_input, input}}).at(only_output);
}

void Replicated::load(const std::string& path_or_model_dir) {
  Checkpoint weights;
  weights.variables = weights_at(path_or_model_dir);
  weights.seed = session_->state()->seed();
  session_->state()->restore(std::move(weights),
                             {.name = describe_checkpoint_at(path_or_model_dir),
                              .remedy = "load weights of this model, or undo the change to it"});
}

void Replicated::save(const std::string& path) const {
  Checkpoint weights;
  for (const std::string& name : variable_names()) weights.variables[name] = variable_value(name);
  require(!weights.variables.empty(), "Replicated: there are no variables to save in ", path,
          "; the first call of the model makes them");
  weights.seed = session_->state()->seed();
  write_checkpoint(path, weights);
}

std::vector<std::string> Replicated::variable_names() const {
  return session_->state()->variables().names();
}

Array Replicated::variable_value(std::string_view name) const {
  const Variables& variables = session_->state()->variables();
  require(variables.contains(name) || !variables.names().empty(),
          "Replicated: there is no variable `", name,
          "` yet; the first call of the model makes them");
  return variables.read(name);
}

}  // namespace belfry
