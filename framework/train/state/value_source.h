#pragma once
// Where variables find their values, other than in an initialiser. Internal to train/.

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/train/estimator_spec.h"
#include "belfry/framework/train/warm_start.h"

namespace belfry {

/// How errors speak of where the variables' values came from.
struct WeightSource {
  std::string name = {};    ///< empty: "the checkpoint of step 3"
  std::string remedy = {};  ///< empty: "use another model_dir, or undo the change to the model"
};

/// A variable's value.
struct FoundValue {
  Array common;
  std::vector<Array> of_towers = {};  ///< of all workers; empty: each has the common one
};

/// The name in a checkpoint of the value that one tower has of a variable that differs over towers.
std::string tower_name(const std::string& variable, int tower);

/// The values of a checkpoint or, as long as there was none, of a warm start. Each waits for a
/// model that has its variable, and is given away once.
class ValueSource {
 public:
  /// `towers`: those of all workers.
  ValueSource(std::optional<WarmStart> warm_start, int towers)
      : warm_start_(std::move(warm_start)), towers_(towers) {}

  /// Takes a checkpoint's values over, which ends the warm start.
  void restore(NamedArrays values, WeightSource words);
  /// Error: `values` have this variable for another number of towers than there are.
  void check(const NamedArrays& values, const VariableOptions& wanted,
             const WeightSource& words) const {
    values_of_towers(values, wanted, words);
  }
  /// Whether there was a checkpoint.
  bool restored() const { return restored_; }
  const WeightSource& words() const { return words_; }
  /// The checkpoint's values that wait.
  const NamedArrays& waiting() const { return waiting_; }

  bool warm_starts() const { return warm_start_.has_value(); }
  /// The effects of the warm start on a model of these variables. Error: as warm_start_table().
  WarmStartTable warm_start_table(std::span<const VariableOptions> variables, std::uint64_t seed,
                                  Mode mode);
  /// Has the warm start's values ready for the first model of each mode, and returns the table of
  /// them; empty: there is nothing to do.
  std::string warm_up(std::span<const VariableOptions> variables, std::uint64_t seed, Mode mode);

  /// The value of a new variable; nothing: it begins with its first one. Error: the checkpoint has
  /// it with another type.
  std::optional<FoundValue> find(const VariableOptions& options) const;
  /// The variable has its value, which waits no longer.
  void given(const std::string& name);

 private:
  std::vector<Array> values_of_towers(const NamedArrays& values, const VariableOptions& wanted,
                                      const WeightSource& words) const;
  void end_warm_start();

  NamedArrays waiting_;
  WeightSource words_;
  bool restored_ = false;
  std::optional<WarmStart> warm_start_;  // until there is a checkpoint, or a model has trained
  std::optional<Weights> warm_source_;   // once it has been read
  std::set<Mode> warmed_up_;             // of models whose variables it was asked for
  NamedArrays warm_values_;              // that no variable has taken yet
  int towers_;
};

}  // namespace belfry
