#pragma once
// The values of a step: who reads them, what they take, and what it would take to have them again.
// Internal to compiler/.

#include <cstdint>
#include <span>
#include <vector>

#include "belfry/framework/compiler/plan.h"

namespace belfry {

/// About how long a node takes with these inputs: only ratios count, on one machine or several.
double seconds_to_compute(const Node& node, std::span<const Tensor> inputs, const WorkRates& rates);

/// Inputs whose memory a node's first output may take, if it is as large and nobody else reads
/// them.
std::vector<int> may_overwrite(const Node& node);

/// Values are numbered; views share the number of what they view.
class StepValues {
 public:
  StepValues(const Program& program, const WorkRates& rates);

  using Set = std::vector<bool>;  ///< by value
  Set none() const { return Set(values_.size()); }

  struct Value {
    const Node* node = nullptr;
    std::int64_t bytes = 0;
    bool leaf = false;       ///< there in any case: a variable, an input, a constant
    bool pinned = false;     ///< a result of the program, or what cannot be computed again
    int made = 0;            ///< the place of its node in order()
    int last_forward = -1;   ///< the place of its last reader in the forward pass; -1: it has none
    int last_read = -1;      ///< the place of its last reader
    bool read_late = false;  ///< something behind the forward pass reads it
    bool may_be_again() const { return !leaf && !pinned; }
    /// It is kept for the backward pass, and may be dropped.
    bool droppable() const { return may_be_again() && read_late; }
  };
  const std::vector<Value>& values() const { return values_; }
  int value_of(const Tensor& t) const;

  /// Whether a node belongs to the backward pass, or to what comes after it.
  static bool is_late(const Node& node) { return node.phase() != Phase::forward; }
  /// A node that is computed again reads these: its inputs, and the statistics that it made of
  /// them.
  static std::vector<Tensor> read_again(const Node& node);
  /// Adds to `graph` what makes the node's values again of `inputs`, in the order of read_again().
  static Node& add_again(Graph& graph, const Node& node, std::vector<Tensor> inputs);

  struct Estimate {
    std::int64_t peak = 0;  ///< bytes of all that lives at a time, at most; without workspaces
    int when = 0;           ///< the place in order() that this is at or, computing again, before
    double seconds = 0;     ///< of computing again
  };
  /// The peak and the time of a step that drops these.
  Estimate estimate(const Set& dropped) const;
  /// The nodes that are computed, in order: without leaves and views.
  const std::vector<const Node*>& order() const { return order_; }
  /// About how long the whole step takes, by the same measure.
  double step_seconds() const { return step_seconds_; }
  /// About how long it takes to have the value's node again, of what it reads.
  double seconds_of(const Value& value) const;

 private:
  const std::vector<int>& numbers_of(const Node& node) const { return numbers_[node.id()]; }

  std::vector<std::vector<int>> numbers_;  // by node id, by output
  std::vector<Value> values_;
  std::vector<const Node*> order_;
  WorkRates rates_;
  double step_seconds_ = 0;
};

}  // namespace belfry
