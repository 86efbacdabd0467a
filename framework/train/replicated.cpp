#include "belfry/framework/train/replicated.h"

#include "belfry/framework/train/checkpoint.h"
#include "belfry/framework/train/predictions.h"
#include "belfry/framework/train/session.h"

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

}  // namespace

Replicated::Replicated(Forward forward, const RunConfig& run) {
  require(forward, "Replicated: there is no forward function");
  validate(run);
  session_ = std::make_shared<Session>(
      [forward = std::move(forward)](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
        return {.predictions = forward(std::move(s), batch)};
      },
      run);
}

Features Replicated::operator()(const Features& inputs) {
  require(row_count(inputs) > 0,
          "Replicated: the input has no rows: ", to_string(signature_of(inputs)));
  auto run = [&] {
    Predictions predictions(session_, std::make_unique<OneBatch>(inputs),
                            {.single_examples = false});
    Features results;
    predictions.next(results);
    for (const auto& [name, value] : results)
      require(value.shape().rank() > 0 && value.shape()[0] == row_count(inputs),
              "Replicated: result `", name, "` is ", value.type(), " for ", row_count(inputs),
              " rows; it should have one row an example");
    return results;
  };
  return loaded_.empty() ? run() : with_context("with the variables of " + loaded_, run);
}

Array Replicated::operator()(const Array& input) {
  return (*this)(Features{{only_input, input}}).at(only_output);
}

void Replicated::load(const std::string& path) {
  Checkpoint weights;
  weights.variables = load_safetensors(path).tensors;
  weights.seed = session_->state().seed;
  with_context("in " + path, [&] { session_->restore(std::move(weights)); });
  loaded_ = path;
}

void Replicated::save(const std::string& path) const {
  Checkpoint weights;
  for (const std::string& name : variable_names()) weights.variables[name] = variable_value(name);
  require(!weights.variables.empty(), "Replicated: there are no variables to save in ", path,
          "; the first call of the model makes them");
  weights.seed = session_->state().seed;
  write_checkpoint(path, weights);
}

std::vector<std::string> Replicated::variable_names() const {
  return session_->variables().names();
}

Array Replicated::variable_value(std::string_view name) const {
  return session_->variables().read(name);
}

}  // namespace belfry
