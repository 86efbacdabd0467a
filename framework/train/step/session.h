#pragma once
// A model's variables on its towers, and the executables that use them. Internal to train/.

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "belfry/framework/backend/communicator.h"
#include "belfry/framework/distribute/strategy.h"
#include "belfry/framework/distribute/tower_threads.h"
#include "belfry/framework/distribute/variables.h"
#include "belfry/framework/distribute/workers.h"
#include "belfry/framework/runtime/plan_cache.h"
#include "belfry/framework/runtime/tower_executable.h"
#include "belfry/framework/train/checkpoint.h"
#include "belfry/framework/train/model/model.h"
#include "belfry/framework/train/run_config.h"
#include "belfry/framework/train/state/variable_misfits.h"
#include "belfry/framework/train/step/replicas.h"
#include "belfry/framework/train/step/turns.h"
#include "belfry/framework/train/warm_start.h"

namespace belfry {

/// How errors speak of where the variables' values came from.
struct WeightSource {
  std::string name = {};    ///< empty: "the checkpoint of step 3"
  std::string remedy = {};  ///< empty: "use another model_dir, or undo the change to the model"
};

/// Lives as long as its Estimator: training, evaluation and prediction share its variables, and
/// plans stay ready in one cache. Used by the thread
/// whose turn it is, but for functions that say that they wait for theirs.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(ModelFn model_fn, const RunConfig& config, std::optional<WarmStart> warm_start = {});

  /// Takes over what a checkpoint holds. Variables are checked when a model asks for them; errors
  /// then have the words of `source`, by default those for an Estimator's user. Waits for its turn.
  void restore(Checkpoint checkpoint, WeightSource source = {});
  /// Variables (also those that no model has asked for yet), step and seed, and where training left
  /// the input and the hooks. Waits for its turn.
  Checkpoint snapshot() const;
  /// The same on the chief for all workers, which must all call it.
  Checkpoint snapshot_of_all() const;
  /// The names of a snapshot's variables, and the value of one; null: there is none. They wait for
  /// their turn.
  std::vector<std::string> variable_names() const;
  std::optional<Array> variable_value(std::string_view name) const;

  /// Where the next training goes on.
  const std::string& input_position() const { return input_position_; }
  /// Whether it is that of a checkpoint, which holds the positions of all workers.
  bool position_of_all() const { return position_of_all_; }
  const std::map<std::string, std::string>& hook_states() const { return hook_states_; }
  void leave_off(std::string input_position, std::map<std::string, std::string> hook_states);
  /// The variables may be those of no step at all, or nobody knows which batch comes after them.
  void mark_broken() { broken_ = true; }
  bool broken() const { return broken_; }

  /// Joins the towers of all workers, unless they are joined: all workers call it. Moving averages
  /// may change from now on, and with them what replicas() read. Until end_training(), which comes
  /// if this has not thrown, the variables are the training's.
  void begin_training(std::stop_token stop = {});
  void end_training();
  bool is_training() const { return trainings_ > 0; }
  /// Requested when the training is to stop: evaluations and predictions beside it heed it. Until
  /// the training does, or ends.
  std::stop_token training_stop() const {
    auto turn = turns_.take();
    return training_stop_;
  }
  void heed_training_stop() { training_stop_ = {}; }
  /// Where there is no training: evaluations heed `stop` as if it were one's. Waits for its turn.
  void listen_to(std::stop_token stop) {
    auto turn = turns_.take();
    if (trainings_ == 0) training_stop_ = std::move(stop);
  }
  /// Error: one is under way. Waits for its turn.
  void require_no_training() const;
  /// For evaluation or prediction, with the variables or their moving averages; kept as long as the
  /// session. Waits for its turn. Error: averages are asked for and there are none.
  Replicas& replicas(Mode mode, bool averaged = false);
  /// The cache has the models of all modes, each with the Replicas that it belongs to.
  PlanCache<PreparedModel>& plans() { return plans_; }

  /// A model for these batches. One that is to be cut (ModelOptions::split) without anybody having
  /// said where is cut such that the fullest device of tower 0 needs the least: of several ways,
  /// each compiled, those that fit without computing more again come first; of those that need at
  /// most a twentieth more than the least the fastest is taken. `agree` may put another one in its
  /// place.
  Model build(Mode mode, const Signature& signature, const Hooks& hooks,
              const ModelOptions& options, const AgreeOnSplit& agree = {}) const;
  /// The plan of a model on one of this session's towers. Convolutions are exact, and more is
  /// computed again, where only such a plan is within the devices' limits.
  std::shared_ptr<const TowerPlan> compile(const Model& model, int tower = 0,
                                           UpdateSet chosen = UpdateSet::all()) const;
  /// By how much the leanest such plans, of all sets of updates that the model makes, are together
  /// over what there is on a device, where it is the most; 0 or below: they fit.
  std::int64_t bytes_over(const Model& model, int tower) const;
  std::shared_ptr<const TowerPlan> compile_summaries(const Model& model, int tower) const;
  /// `options` with what this session's towers ask of its models.
  ModelOptions complete(ModelOptions options = {}) const;

  /// Memory for a plan: makes its variables, from the checkpoint if there was one. Plans that
  /// nobody uses now go where there would be too little. Error: the checkpoint, or the training,
  /// lacks one or has it with another type, with a table; or the memory does not suffice, with the
  /// largest tensors of a device, the bytes needed there and the largest batch that would fit.
  std::unique_ptr<TowerExecutable> make_executable(std::shared_ptr<const TowerPlan> plan,
                                                   const Model& model, int tower = 0,
                                                   bool averaged = false);
  /// A description of what a warm start would do for a model; empty if there is none. Error: as
  /// plan_warm_start().
  std::string describe_warm_start(const Model& model);
  /// The variables of a training are those of its model for the first batch, once they are made: no
  /// other batch has others, and neither have evaluation and prediction but where that is meant.
  /// Error: those had others before.
  void fix_variables(const Model& model);
  /// The variables of the checkpoint and of all trainings, slots included; none: there was no
  /// checkpoint and no training. Waits for its turn.
  std::optional<KnownVariables> known_variables() const;
  /// Error: the checkpoint, or the training, lacks a variable of this plan or has it with another
  /// type.
  void check_variables(const TowerPlan& plan, const Model& model) const;
  /// Makes nothing, but plans that nobody uses now go where there would be too little memory. Error
  /// where make_executable() would throw one.
  void check(const TowerPlan& plan, const Model& model, int tower);
  /// Whether a variable has memory of its own on this tower.
  bool holds(const VariableOptions& options, int tower) const {
    return tower == 0 || strategy_.variables == VariablePlacement::mirrored
           || differs_over_towers(options.over_towers);
  }

  Turns& turns() const { return turns_; }
  const ModelFn& model_fn() const { return model_fn_; }
  /// The devices and, of CPUs, how many threads they run on: "cpu:0, cpu:1, 1 thread each".
  std::string describe_devices() const;
  const Strategy& strategy() const { return strategy_; }
  Workers& workers() const { return *workers_; }
  /// The context that an input_fn is given: with the global policy every worker reads whole
  /// batches.
  InputContext input_context() const;
  /// This process's towers among those of all workers.
  TowerPlace place() const {
    return {workers_->rank() * strategy_.size(), workers_->count() * strategy_.size()};
  }
  /// For each slot of each tower, tower after tower.
  TowerThreads& lanes() { return threads_; }
  /// Lets the towers that wait for one that threw go on; from any thread.
  void towers_failed(const std::exception& error);
  Variables& variables() { return variables_; }
  /// These two wait for their turn.
  bool has_state() const {
    auto turn = turns_.take();
    return has_state_;
  }
  /// Whether the variables have other values than first ones, or will.
  bool is_trained() const {
    auto turn = turns_.take();
    return has_state_ || warm_start_;
  }
  StepState state() const { return {.seed = seed_, .step = step_}; }
  std::int64_t step() const { return step_; }
  void finish_step() { ++step_; }

 private:
  // The memory that plans need when they are there together.
  struct Need {
    std::int64_t most = 0;        // of any device of the tower
    std::int64_t over_limit = 0;  // more than a device's limit, where it is the most
    std::int64_t over = 0;        // more than that and what other programs leave
  };
  std::vector<Device*> devices_of(int tower) const;
  void make_room(const TowerPlan& plan, const Model& model, int tower);
  [[noreturn]] void fail_for_memory(const TowerPlan& plan, const Model& model, int tower);
  std::string other_ways(const Model& model, int tower) const;
  std::optional<Need> need_on_two_devices(const Model& model, int tower) const;
  Bytes bytes_needed(const TowerPlan& plan, int tower, int slot);
  bool fits(const TowerPlan& plan, int tower);
  using Compile = std::function<std::shared_ptr<const TowerPlan>(const CompileOptions&)>;
  struct Search {
    bool recompute = false;        // there is a backward pass
    bool first_that_fits = false;  // in place of the best that does
    bool even_if_off = false;      // whatever RunConfig::recompute says
  };
  std::shared_ptr<const TowerPlan> compile(const Model& model, int tower, UpdateSet chosen,
                                           Search search) const;
  std::shared_ptr<const TowerPlan> compile_within_limits(int tower, Search search,
                                                         const Compile& compile) const;
  std::shared_ptr<const TowerPlan> compile_with_recompute(int tower, Search search,
                                                          const Compile& compile,
                                                          CompileOptions options,
                                                          const TowerPlan& without) const;
  SplitPlan best_split(const Model& first) const;
  Need need_of(const Model& model, int tower, Search search) const;
  static Search leanest(const Model& model);
  std::int64_t bytes_of(std::span<const TowerPlan* const> plans, int tower, std::size_t slot) const;
  std::int64_t bytes_over_limits(const TowerPlan& plan, int tower) const;
  std::int64_t largest_batch(const Model& model, int tower);
  std::vector<VariableOptions> variables_to_save() const;
  WeightSource source_of_variables(Mode mode) const;
  bool is_saved(const VariableOptions& options) const;
  void make_variable(const VariableOptions& options, int slot, Mode mode);
  bool has_average(const std::string& variable) const;
  void take_value(const VariableOptions& options);
  WarmStartPlan plan_warm_start(const Model& model);
  void take_warm_values(const Model& model);
  void end_warm_start();

  mutable Turns turns_;
  ModelFn model_fn_;
  std::string config_;  // as checkpoints have it
  bool check_numerics_ = false, capture_steps_;
  Precision precision_;
  std::shared_ptr<Workers> workers_;
  Strategy strategy_;
  TowerThreads threads_;
  CommunicatorOptions reduction_;
  std::vector<std::shared_ptr<Communicator>> communicators_;  // of several towers, by slot
  std::vector<std::shared_ptr<Communicator>> aborted_;        // that executables may still refer to
  std::atomic<bool> towers_failed_ = false;
  Variables variables_;
  NamedArrays pending_;  // of the checkpoint, not yet asked for by a model
  WeightSource source_;  // of these
  bool restored_ = false;
  KnownVariables trained_;  // of all trainings
  // With first values by evaluation and prediction, where no training has them: those that are
  // meant to be outside of it, and others.
  std::set<std::string, std::less<>> outside_, made_elsewhere_;
  bool fixed_ = false;  // the training under way has all of its own
  // Until a checkpoint is restored, or a model has trained.
  std::optional<WarmStart> warm_start_;
  std::optional<Weights> warm_source_;  // once it has been read
  std::set<Mode> warm_modes_;           // of models whose variables it was asked for
  NamedArrays warm_values_;             // that no variable has taken yet
  bool has_state_ = false;
  bool broken_ = false;
  int trainings_ = 0;  // under way
  std::stop_token training_stop_;
  std::string input_position_;
  bool position_of_all_ = false;
  std::map<std::string, std::string> hook_states_;
  std::int64_t step_ = 0;
  std::uint64_t seed_;
  int split_;
  CompileOptions compile_options_;
  bool recompute_;  // as much as it takes
  PlanCache<PreparedModel> plans_;
  std::map<std::pair<Mode, bool>, std::unique_ptr<Replicas>> replicas_;
  // Variables that averaged replicas read themselves, until their averages are first updated.
  std::map<Mode, std::set<std::string>> averages_to_come_;
};

}  // namespace belfry
