#pragma once
// A forward function on several devices.

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "belfry/framework/train/estimator_spec.h"
#include "belfry/framework/train/run_config.h"

namespace belfry {

class Session;

/// For those who have a forward function and nothing else. Rows of the input are split over the
/// devices as evenly as can be (15 on two are 8 and 7; devices for which none are left do nothing),
/// each runs a copy of the model with the same variables, and the results are joined in the rows'
/// order:
///
///   Tensor forward(Scope s, Tensor images);  // [n, 28, 28, 1] -> [n, 10]
///   Replicated model(forward, {.devices = {"cuda:0", "cuda:2"}});
///   model.load("runs/mnist/checkpoint-4000.safetensors");
///   Array logits = model(images);
///
/// Variables have the names that the function gives them, on any number of devices: what an
/// Estimator has saved whose model_fn calls the function in its root scope can be loaded here, and
/// the other way round. To train the function, let that Estimator have the devices.
///
/// Used by one thread at a time.
class Replicated {
 public:
  /// Any number of named inputs and results, each with one row an example.
  using Forward = std::function<NamedTensors(Scope, const Batch&)>;

  /// Takes from the configuration the settings that evaluation of an Estimator goes by: devices,
  /// precision, threads, memory and so on, and the seed for first values. Error: as Estimator.
  explicit Replicated(Forward forward, const RunConfig& run = {});
  /// One input, one result: Tensor f(Scope, Tensor).
  template <class F>
  requires std::invocable<F&, Scope, Tensor>
  explicit Replicated(F f, const RunConfig& run = {})
      : Replicated(Forward([f = std::move(f)](Scope s, const Batch& batch) mutable -> NamedTensors {
                     return {{only_output, f(std::move(s), batch[only_input])}};
                   }),
                   run) {}

  /// Runs the model. The first call with a shape compiles for it. Arrays are the caller's; one
  /// without axes (a scalar) goes to all devices. Error: no rows, inputs of different numbers of
  /// rows, an undefined array; a result that has not one row an example; what the function throws;
  /// variables that the loaded file does not have, or of another type.
  Features operator()(const Features& inputs);
  /// The same for a function of one input and one result.
  Array operator()(const Array& input);

  /// Takes the values of all variables from a safetensors file: a checkpoint, weights that save()
  /// wrote, or those of another program; or from the newest checkpoint of a model_dir. What the
  /// model does not ask for is left aside. Error: no such file, a damaged one, or one without a
  /// variable that is in use, which is named.
  void load(const std::string& path_or_model_dir);
  /// Writes the model's variables as a checkpoint of step 0, whole or not at all; in a model_dir,
  /// under the name that checkpoint_path() gives, an Estimator begins with it. Error: it cannot be
  /// written; there was no call yet, so that there are no variables.
  void save(const std::string& path) const;

  /// Names of all variables, sorted; none before the first call.
  std::vector<std::string> variable_names() const;
  /// A copy of a variable's value. Error: no such variable, or no call yet.
  Array variable_value(std::string_view name) const;

 private:
  static constexpr const char *only_input = "input", *only_output = "output";

  std::shared_ptr<Session> session_;
};

}  // namespace belfry
