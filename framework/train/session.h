#pragma once
// A model's variables on a device, and the executables that use them. Internal to train/.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belfry/framework/distribute/strategy.h"
#include "belfry/framework/runtime/executable.h"
#include "belfry/framework/runtime/variable_store.h"
#include "belfry/framework/train/checkpoint.h"
#include "belfry/framework/train/model.h"
#include "belfry/framework/train/run_config.h"

namespace belfry {

/// A compiled model with its executable; shared by everything that runs it.
struct CompiledModel {
  std::unique_ptr<Model> model;
  std::unique_ptr<Executable> executable;
};

/// Lives as long as its Estimator: training, evaluation and prediction share its variables, and
/// plans of evaluation and prediction are compiled once for each signature. Used by one thread at a
/// time.
class Session {
 public:
  Session(ModelFn model_fn, const RunConfig& config);

  /// Takes over what a checkpoint holds. Variables are checked when a model asks for them.
  void restore(Checkpoint checkpoint);
  /// Variables (also those that no model has asked for yet), step and seed, and where training left
  /// the input and the hooks.
  Checkpoint snapshot() const;

  /// Where the next training goes on.
  const std::string& input_position() const { return input_position_; }
  const std::map<std::string, std::string>& hook_states() const { return hook_states_; }
  void leave_off(std::string input_position, std::map<std::string, std::string> hook_states);
  /// The variables may be those of no step at all, or nobody knows which batch comes after them.
  void mark_broken() { broken_ = true; }
  bool broken() const { return broken_; }

  /// The compiled model of a signature, from the cache if it is there.
  const std::shared_ptr<CompiledModel>& compiled(Mode mode, const Features& batch);

  /// The plan of a model on this session's device and threads.
  std::shared_ptr<const Plan> compile(const Model& model,
                                      std::uint64_t chosen = ~std::uint64_t{0}) const;

  /// Memory for a plan: makes its variables, from the checkpoint if there was one. Error: the
  /// checkpoint lacks one, or has it with another type; or the memory does not suffice, with the
  /// largest tensors, the bytes needed and the largest batch that would fit.
  std::unique_ptr<Executable> make_executable(std::shared_ptr<const Plan> plan, const Model& model);

  const ModelFn& model_fn() const { return model_fn_; }
  Device& device() const { return *device_; }
  const Strategy& strategy() const { return strategy_; }
  VariableStore& variables() { return variables_; }
  bool has_state() const { return has_state_; }
  StepState state() const { return {.seed = seed_, .step = step_}; }
  std::int64_t step() const { return step_; }
  void finish_step() { ++step_; }

 private:
  void check_memory(const Plan& plan, const Model& model) const;
  Bytes bytes_needed(const Plan& plan) const;
  std::int64_t largest_batch(const Model& model, Bytes free) const;
  void take_from_checkpoint(const VariableOptions& options);

  ModelFn model_fn_;
  bool check_numerics_ = false;
  Strategy strategy_;
  std::shared_ptr<Device> device_;
  VariableStore variables_;
  NamedArrays pending_;  // of the checkpoint, not yet asked for by a model
  bool restored_ = false;
  bool has_state_ = false;
  bool broken_ = false;
  std::string input_position_;
  std::map<std::string, std::string> hook_states_;
  std::int64_t step_ = 0;
  std::uint64_t seed_;
  int threads_;
  std::vector<std::shared_ptr<CompiledModel>> cache_;
};

}  // namespace belfry
