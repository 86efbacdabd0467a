#pragma once
// A model on all towers of this process: which of them runs what for a batch. Internal to train/.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "belfry/framework/train/step/planner.h"
#include "belfry/framework/train/step/tower_shards.h"

namespace belfry {

class Session;

/// Models by signature and executables by tower, made when a batch asks for them and kept by the
/// session. Used by one thread at a time.
class Replicas {
 public:
  Replicas(Session& session, Mode mode, Hooks hooks = {}, ModelOptions options = {});
  ~Replicas();
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  /// Who takes which rows of the step; StepDriver says so.
  StepShards& shards() { return shards_; }
  /// The rows of this process or, where workers share a step, of all of them.
  const StepRows& rows() const { return shards_.rows; }
  /// Sets how many rows came before this batch, for evaluation and prediction, before run(). Random
  /// numbers of its rows are numbered from there, so that no row draws those of an earlier one.
  /// Workers that evaluate batches of their own have a range of row numbers each.
  void begin_at(std::int64_t first_row);

  /// Builds the models that the towers need for their shards.
  void prepare_models();
  /// Whether prepare() has nothing to do.
  bool is_prepared(UpdateSet chosen) const;
  /// Builds and compiles what the towers need for their shards. Does nothing when all is there.
  /// Where it is not, results of steps before are taken, and their plans may go. The plans of the
  /// last batch of an evaluation or prediction stay until its next one.
  void prepare(UpdateSet chosen = UpdateSet::all());
  /// As prepare(), for the models' summaries: run() then changes no variable.
  void prepare_summaries();
  /// Runs every tower that takes part on its shard, all at once, as prepare() left it.
  void run(int sub_step = 0);
  /// As run(), but on devices that run behind the host it returns while the step is under way.
  /// With `trace`, every instruction is timed: see Executable.
  void start(bool trace = false, int sub_step = 0);
  /// The towers of the last start(); stays until the one after the next.
  using Started = std::vector<TowerExecutable*>;
  const Started& started() const { return running_[started_steps_ % 2].towers; }
  /// Whether a step of these towers goes on while the host does.
  static bool under_way(const Started& towers);
  /// Waits for the oldest step of these towers that is under way; they have its results then. At
  /// most two are.
  static void collect(const Started& towers);

  /// The model of a tower that takes part: all have the same updates, names and so on.
  const Model& model(int i = 0) const { return towers_[i].model->model; }
  /// The plan of such a tower, as prepare(chosen) has made it for the batch at hand.
  const TowerPlan& plan(int i, UpdateSet chosen) const;

  /// The towers that take part: their results of run(), which stay until the next one.
  int size() const { return shards_.active; }
  const TowerShard& shard(int i) const { return shards_.of[i]; }
  const TowerExecutable& executable(int i) const { return *towers_[i].executable; }
  static StepTimes times(const Started& towers);  ///< their mean
  /// Appends the trace of a step that was traced and is over.
  static void append_trace(const Started& towers, std::vector<TraceEntry>& to);

 private:
  using Pointer = std::shared_ptr<PreparedModel>;
  struct TowerState {
    Pointer model;
    TowerExecutable* executable = nullptr;
  };

  enum class Phase : std::uint8_t { compute, apply, whole };
  struct Running {
    Started towers;
    std::vector<Pointer> kept;  // their models, where they run behind the host
  };

  void let_go();
  ModelOptions options_now() const;
  bool is_for(const PreparedModel& known, const Features& batch, const ModelOptions& options) const;
  Pointer find(const Features& batch) const;
  Pointer prepared_for(const Features& batch);
  Pointer prepared_for_tower(int tower);
  std::string describe_shard(int tower) const;
  void check_alike(int tower, const Model& model) const;
  void run_lanes(Phase phase);
  void on_lane(int lane, Phase phase);
  void run_lane(int tower, int device, Phase phase);
  void failed(const std::exception& error);
  StepState state_of(const TowerShard& shard) const;

  Session& session_;
  Mode mode_;
  Hooks hooks_;
  ModelOptions options_;
  std::vector<TowerState> towers_;
  StepShards shards_;
  std::array<Running, 2> running_;  // the last start() and the one before
  std::size_t started_steps_ = 0;
  std::int64_t first_row_ = 0;
  StepState state_;  // of the running step, on any tower
  bool has_prepared_ = false;
};

}  // namespace belfry
