#pragma once
// The results of training so far: all that a checkpoint holds. Internal to train/.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/distribute/strategy.h"
#include "belfry/framework/distribute/variables.h"
#include "belfry/framework/distribute/workers.h"
#include "belfry/framework/train/checkpoint.h"
#include "belfry/framework/train/estimator_spec.h"
#include "belfry/framework/train/run_config.h"
#include "belfry/framework/train/state/value_source.h"
#include "belfry/framework/train/state/variable_misfits.h"

namespace belfry {

/// Where a training goes on.
struct TrainingPosition {
  std::string input = {};
  bool of_all = false;  ///< `input` is a checkpoint's, which holds the positions of all workers
  std::map<std::string, std::string> hooks = {};  ///< state by name
};

/// The variables of all models of a session, its step and seed, and where training left the input
/// and the hooks. Used by the thread whose turn it is.
class ModelState {
 public:
  /// The towers here begin with number `first_tower` of `all_towers`.
  ModelState(const Strategy& strategy, int first_tower, int all_towers, const RunConfig& config,
             std::optional<WarmStart> warm_start)
      : variables_(strategy, first_tower),
        values_(std::move(warm_start), all_towers),
        first_tower_(first_tower),
        config_(to_json(config)),
        seed_(config.seed) {}

  /// Takes over what a checkpoint holds. Variables are checked when a model asks for them; errors
  /// then have the words of `source`, by default those for an Estimator's user.
  void restore(Checkpoint checkpoint, WeightSource source = {});
  /// Variables (also those that no model has asked for yet), step and seed, and where training left
  /// the input and the hooks.
  Checkpoint snapshot() const;
  /// The same on the chief for all workers, which must all call it.
  Checkpoint snapshot_of_all(Workers& workers) const;
  /// The names of a snapshot's variables.
  std::vector<std::string> names() const;
  /// A copy of the value that a snapshot has of a variable; none: it has no such variable.
  std::optional<Array> value(std::string_view name) const;

  /// The variables of the checkpoint and of all trainings, slots included; none: there was no
  /// checkpoint and no training.
  std::optional<KnownVariables> known() const;
  /// Error: the checkpoint, or the training, lacks one of these variables of a model, or has it
  /// with another type, with a table. What is not `used` may be missing.
  void check(std::vector<VariableOptions> wanted, const std::set<std::string>& used,
             Mode mode) const;
  /// A training begins, and may have other variables than those before.
  void begin_training() { fixed_ = false; }
  /// The variables of a training are those of its model for the first batch, once they are made: no
  /// other batch has others, and neither have evaluation and prediction but where that is meant.
  /// Error: those had others before.
  void fix(std::span<const VariableOptions> of_model);
  /// Has the values of a warm start, if there is one, ready for a model of these variables, and
  /// logs them on the chief.
  void warm_up(std::span<const VariableOptions> of_model, Mode mode, bool is_chief);
  /// Makes a variable on all towers, unless it is there, with its value from the checkpoint or the
  /// warm start, if they have one, or its first one.
  void make(const VariableOptions& options, int device, Mode mode);
  /// Whether a variable has a moving average to read; one that has `begun` has been updated.
  bool has_average(const std::string& variable, bool begun = true) const;

  /// Whether the variables have other values than first ones, or will.
  bool is_trained() const { return has_state || values_.warm_starts(); }
  ValueSource& values() { return values_; }
  Variables& variables() { return variables_; }
  std::uint64_t seed() const { return seed_; }

  std::int64_t step = 0;  ///< finished
  TrainingPosition position = {};
  bool has_state = false;  ///< there are variables, or a checkpoint was restored

 private:
  std::vector<VariableOptions> to_save() const;
  bool differs(const VariableOptions& options) const;
  WeightSource source_of_variables(Mode mode) const;
  void write(const std::string& name, const FoundValue& value);

  Variables variables_;
  ValueSource values_;
  int first_tower_;
  std::string config_;  // as checkpoints have it
  std::uint64_t seed_;
  KnownVariables trained_;  // of all trainings
  // With first values by evaluation and prediction, where no training has them: those that are
  // meant to be outside of it, and others.
  std::set<std::string, std::less<>> outside_, made_elsewhere_;
  bool fixed_ = false;  // the training under way has all of its own
};

}  // namespace belfry
