#pragma once
// The state and the machinery that training, evaluation and prediction of an Estimator share.
// Internal to train/ and export/.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>

#include "belfry/framework/runtime/plan_cache.h"
#include "belfry/framework/train/state/model_state.h"
#include "belfry/framework/train/step/planner.h"
#include "belfry/framework/train/step/step_driver.h"
#include "belfry/framework/train/step/towers.h"
#include "belfry/framework/train/step/turns.h"

namespace belfry {

/// Towers, the state of a model, and plans that stay ready in one cache. Lives as long as its
/// Estimator. Used by the thread whose turn it is, but for functions that say that they wait for
/// theirs.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(ModelFn model_fn, const RunConfig& config, std::optional<WarmStart> warm_start = {});

  Turns& turns() const { return turns_; }
  Towers& towers() { return towers_; }
  const Planner& planner() const { return planner_; }
  /// The cache has the models of all modes, each with the Replicas that it belongs to.
  PlanCache<PreparedModel>& plans() { return plans_; }

  /// The state. The pointer waits for its turn and keeps it, also as a temporary, to the end of a
  /// whole expression: nothing slow belongs into one.
  class StatePointer {
   public:
    StatePointer(Turns& turns, ModelState& state) : turn_(turns), state_(state) {}
    ModelState* operator->() { return &state_; }

   private:
    Turns::Turn turn_;
    ModelState& state_;
  };
  StatePointer state() { return {turns_, state_}; }

  /// The steps of evaluation or prediction, with the variables or their moving averages; kept as
  /// long as the session. Waits for its turn. Error: averages are asked for and there are none.
  StepDriver& driver(Mode mode, bool averaged = false);
  /// Memory for a plan: makes its variables, from the checkpoint if there was one. Plans that
  /// nobody uses now go where there would be too little. Error: as check().
  std::unique_ptr<TowerExecutable> make_executable(std::shared_ptr<const TowerPlan> plan,
                                                   const Model& model, int tower = 0,
                                                   bool averaged = false);
  /// The same, but makes nothing. Error: the memory does not suffice (Planner::make_room), or as
  /// check_variables().
  void check(const std::shared_ptr<const TowerPlan>& plan, const Model& model, int tower);
  /// Error: the checkpoint, or the training, lacks a variable of this plan or has it with another
  /// type.
  void check_variables(const TowerPlan& plan, const Model& model);

  /// Joins the towers of all workers, unless they are joined: all workers call it. Moving averages
  /// may change from now on, and with them what drivers read. Until end_training(), which comes if
  /// this has not thrown, the variables are the training's.
  void begin_training(std::stop_token stop = {});
  void end_training();
  bool is_training() const { return training_; }
  /// Error: one is under way. Waits for its turn.
  void require_no_training() const;
  /// The variables may be those of no step at all, or nobody knows which batch comes after them.
  void mark_broken() { broken_ = true; }
  bool broken() const { return broken_; }

  /// Requested when the training is to stop: evaluations and predictions beside it heed it. Until
  /// the training does, or ends. Waits for its turn.
  std::stop_token training_stop() const;
  void heed_training_stop() { training_stop_ = {}; }
  /// Where there is no training: evaluations heed `stop` as if it were one's. Waits for its turn.
  void listen_to(std::stop_token stop);

 private:
  mutable Turns turns_;
  bool check_numerics_, capture_steps_;
  Towers towers_;
  ModelState state_;
  Planner planner_;
  PlanCache<PreparedModel> plans_;
  std::map<std::pair<Mode, bool>, std::unique_ptr<StepDriver>> drivers_;
  // Variables that averaged drivers read themselves, until their averages are first updated.
  std::map<Mode, std::set<std::string>> averages_to_come_;
  bool training_ = false;  // one is under way
  std::stop_token training_stop_;
  bool broken_ = false;
};

}  // namespace belfry
