#pragma once
// The plans of a session's models, chosen so that they fit into the devices' memory. Internal to
// train/.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belfry/framework/distribute/variables.h"
#include "belfry/framework/runtime/plan_cache.h"
#include "belfry/framework/runtime/tower_executable.h"
#include "belfry/framework/train/model/model.h"
#include "belfry/framework/train/run_config.h"
#include "belfry/framework/train/step/towers.h"

namespace belfry {

class Replicas;

/// A session's plan cache has one for each signature of each Replicas.
struct PreparedModel {
  const Replicas* owner;
  Model model;
  std::map<std::pair<int, UpdateSet>, std::unique_ptr<TowerExecutable>> executables =
      {};                                                          ///< by tower and chosen updates
  std::map<int, std::unique_ptr<TowerExecutable>> summaries = {};  ///< by tower
};

class Planner {
 public:
  /// All must outlive it.
  Planner(ModelFn model_fn, const RunConfig& config, const Towers& towers, Variables& variables);

  const ModelFn& model_fn() const { return model_fn_; }
  /// `options` with what the towers ask of their models.
  ModelOptions complete(ModelOptions options = {}) const;
  /// A model for these batches. One that is to be cut (ModelOptions::split) without anybody having
  /// said where is cut such that the fullest device of tower 0 needs the least: of several ways,
  /// each compiled, those that fit without computing more again come first; of those that need at
  /// most a twentieth more than the least the fastest is taken. `agree` may put another one in its
  /// place.
  Model build(Mode mode, const Signature& signature, const Hooks& hooks,
              const ModelOptions& options, const AgreeOnSplit& agree = {}) const;
  /// The plan of a model on one of the towers. Convolutions are exact, and more is computed again,
  /// where only such a plan is within the devices' limits.
  std::shared_ptr<const TowerPlan> compile(const Model& model, int tower = 0,
                                           UpdateSet chosen = UpdateSet::all()) const;
  std::shared_ptr<const TowerPlan> compile_summaries(const Model& model, int tower) const;
  /// By how much the leanest such plans, of all sets of updates that the model makes, are together
  /// over what there is on a device, where it is the most; 0 or below: they fit.
  std::int64_t bytes_over(const Model& model, int tower) const;
  /// Drops plans that nobody uses now where there would be too little memory for this one. Error:
  /// the memory does not suffice, with the largest tensors of a device, the bytes needed there, the
  /// largest batch that would fit and what other ways would need.
  void make_room(const std::shared_ptr<const TowerPlan>& plan, const Model& model, int tower,
                 PlanCache<PreparedModel>& plans) const;

 private:
  // The memory that plans need when they are there together.
  struct Need {
    std::int64_t most = 0;        // of any device of the tower
    std::int64_t over_limit = 0;  // more than a device's limit, where it is the most
    std::int64_t over = 0;        // more than that and what other programs leave
  };
  struct Search {
    bool recompute = false;        // there is a backward pass
    bool first_that_fits = false;  // in place of the best that does
    bool even_if_off = false;      // whatever RunConfig::recompute says
  };
  using Plans = std::vector<std::shared_ptr<const TowerPlan>>;
  using Compile = std::function<std::shared_ptr<const TowerPlan>(const CompileOptions&)>;

  std::shared_ptr<const TowerPlan> compile(const Model& model, int tower, UpdateSet chosen,
                                           Search search) const;
  std::shared_ptr<const TowerPlan> compile_within_limits(int tower, Search search,
                                                         const Compile& compile) const;
  std::shared_ptr<const TowerPlan> compile_with_recompute(int tower, Search search,
                                                          const Compile& compile,
                                                          CompileOptions options,
                                                          const TowerPlan& without) const;
  SplitPlacement best_split(const Model& first) const;
  static Search leanest(const Model& model);
  Need need_of(const Model& model, int tower, Search search) const;
  std::optional<Need> need_on_two_devices(const Model& model, int tower) const;
  std::int64_t bytes_of(const Plans& plans, int tower, std::size_t device_index) const;
  std::int64_t bytes_over_limits(const std::shared_ptr<const TowerPlan>& plan, int tower) const;
  Bytes bytes_needed(const TowerPlan& plan, int tower, int device_index) const;
  std::int64_t bytes_missing(const TowerPlan& plan, int tower, int device_index) const;
  bool fits(const TowerPlan& plan, int tower) const;
  std::int64_t largest_batch(const Model& model, int tower) const;
  [[noreturn]] void refuse(const TowerPlan& plan, const Model& model, int tower) const;
  std::string other_ways(const Model& model, int tower) const;

  ModelFn model_fn_;
  const Towers& towers_;
  Variables& variables_;
  Precision precision_;
  int split_;
  CompileOptions compile_options_;
  bool recompute_;  // as much as it takes
};

}  // namespace belfry
