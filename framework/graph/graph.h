#pragma once
// The symbolic graph, and how it is printed.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belfry/framework/base/fields.h"
#include "belfry/framework/graph/op_def.h"

namespace belfry {

/// One output of a node: a value that will exist when the step runs. A handle; valid while its
/// graph lives. `a == b` compares handles, not values (that is equal(a, b)).
class Tensor {
 public:
  Tensor() = default;  ///< undefined
  /// Output number `index` of `node`.
  explicit Tensor(Node& node, int index = 0) : node_(&node), index_(index) {}

  bool defined() const { return node_ != nullptr; }  ///< false when default-constructed
  Node& node() const;                                ///< the node that makes it; Error: undefined
  int index() const { return index_; }               ///< number among the outputs of node()
  /// The graph of node(), and the type of the output. Error: undefined.
  ///@{
  Graph& graph() const;
  const TensorType& type() const;
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  int rank() const { return shape().rank(); }
  ///@}
  /// Size of an axis; negative axes count from the end.
  std::int64_t size(int axis) const;

  /// Compare node and index. Nodes are in the order of their addresses, which differs between runs.
  ///@{
  bool operator==(const Tensor&) const = default;
  auto operator<=>(const Tensor&) const = default;
  ///@}

 private:
  Node* node_ = nullptr;
  int index_ = 0;
};

/// The purpose of a node; memory and time are reported by phase.
enum class Phase : std::uint8_t { forward, backward, update, recompute };
constexpr auto names_of(Phase) { return name_list("forward", "backward", "update", "recompute"); }

/// One operation in a graph. Made by apply(); constant after construction but for its device.
class Node {
 public:
  const OpDef& op() const { return *op_; }  ///< the op that it executes
  int id() const { return id_; }            ///< position in the graph; inputs have smaller ids
  Graph& graph() const { return *graph_; }  ///< the graph that owns it
  /// The tensors that it reads and the types of those that it makes. Numbers are not checked.
  ///@{
  std::span<const Tensor> inputs() const { return inputs_; }
  const Tensor& input(int i) const { return inputs_[i]; }
  std::span<const TensorType> outputs() const { return outputs_; }
  const TensorType& output(int i = 0) const { return outputs_[i]; }
  ///@}
  /// The options of its op; as the struct T. Error (ours): they are of another type.
  ///@{
  const Options& options() const { return options_; }
  template <OptionStruct T>
  const T& as() const {
    return options_.as<T>();
  }
  ///@}
  const std::string& scope() const { return scope_; }  ///< path, for example "discriminator/down1"
  int device() const { return device_; }  ///< which device of its tower's group it runs on
  /// Whether it lies in this scope, by full path, or below; all lie in the empty one.
  bool is_in(std::string_view scope) const;
  Phase phase() const { return phase_; }  ///< its purpose
  /// The first row of its tower's batch that it computes, where it was made for a part of the rows,
  /// as begin_micro_batch() has it.
  std::int64_t first_row() const { return first_row_; }
  bool is(const OpDef& op) const { return op_ == &op; }  ///< whether op() is this very object
  /// Inputs written in place; empty for all but effects.
  std::vector<int> mutated() const {
    return op_->mutates ? op_->mutates(*this) : std::vector<int>{};
  }

 private:
  friend class Graph;
  const OpDef* op_ = nullptr;
  Graph* graph_ = nullptr;
  int id_ = 0;
  std::vector<Tensor> inputs_;
  std::vector<TensorType> outputs_;
  Options options_;
  std::string scope_;
  int device_ = 0;
  Phase phase_ = Phase::forward;
  std::int64_t first_row_ = 0;
};

/// All outputs of a node.
std::vector<Tensor> outputs_of(Node& node);

/// "conv2d (at discriminator/down1)", for messages.
std::string to_string(const Node& node);

/// Runs `body`; Errors that leave it name the scope, unless it is the root.
template <class Body>
decltype(auto) at_scope(const std::string& scope, Body&& body) {
  if (scope.empty()) return std::forward<Body>(body)();
  return with_context("at " + scope, std::forward<Body>(body));
}

/// Where a new node belongs.
struct Placement {
  std::string scope;             ///< path; empty: the root
  int device = 0;                ///< as Node::device()
  Phase phase = Phase::forward;  ///< as Node::phase()
  std::int64_t first_row = 0;    ///< as Node::first_row()
};

/// Nodes in topological order: every node comes after its inputs.
///
/// A step reads every variable as it stood before the step, then runs the effects (nodes that
/// mutate variables) in the order in which they were made. Not thread-safe; built by one thread.
class Graph {
 public:
  /// `towers`: how many run the model together, each on its rows of the batch.
  explicit Graph(int towers = 1);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// Adds a node after checking its inputs and types; Error with op name and scope path.
  Node& add(const OpDef& op, std::vector<Tensor> inputs, Options options,
            const Placement& placement);

  std::size_t size() const { return nodes_.size(); }      ///< number of nodes
  Node& node(std::size_t i) const { return *nodes_[i]; }  ///< the node with this id(), unchecked
  auto begin() const { return nodes_.begin(); }           ///< iterates over std::unique_ptr<Node>
  auto end() const { return nodes_.end(); }               ///< behind the last node

  /// Nodes that mutate variables, in the order of their making.
  std::span<Node* const> effects() const { return effects_; }
  /// The variable of this full name, or null.
  Node* find_variable(std::string_view name) const;
  /// All variables, in the order of their making.
  std::span<Node* const> variables() const { return variables_; }
  /// The input of this name, or null.
  Node* find_input(std::string_view name) const;

  /// Places nodes that are made without a scope of their own while it lives, in place of the
  /// default (the scope of their first input). Gradients and updates are built under one.
  class PlacementGuard {
   public:
    /// Takes the place of a guard that lives already, until it ends itself.
    PlacementGuard(Graph& graph, Placement placement);
    ~PlacementGuard();
    PlacementGuard(const PlacementGuard&) = delete;
    PlacementGuard& operator=(const PlacementGuard&) = delete;

   private:
    Graph& graph_;
    std::unique_ptr<Placement> previous_;
  };
  /// Where a node with these inputs goes when nothing else is said.
  Placement default_placement(std::span<const Tensor> inputs) const;

  /// Moves a node to device number `device` of the tower's group. Nodes that are made later follow
  /// their inputs, so move what is there before gradients and updates are built.
  void place(Node& node, int device);

  /// The change that add() makes to a node's inputs first: mixed precision casts them. None at
  /// first.
  using InputRule = std::function<void(const OpDef& op, std::vector<Tensor>& inputs)>;
  /// Returns the one that was there.
  InputRule set_input_rule(InputRule rule) { return std::exchange(input_rule_, std::move(rule)); }
  /// Whether there is such a rule: then operands need not agree in type, and layers keep their
  /// parameters in f32 whatever they compute in.
  bool mixed_precision() const { return input_rule_ != nullptr; }

  /// While this is on, reshape(), broadcast_to(), sum_to(), slice() and pad() make nodes even
  /// where they change nothing. Graphs for batches of several sizes then have the same nodes. Off
  /// at first.
  ///@{
  void keep_idle_nodes() { keeps_idle_nodes_ = true; }
  bool keeps_idle_nodes() const { return keeps_idle_nodes_; }
  ///@}

  int towers() const { return towers_; }  ///< how many run the model together

  /// Nodes made from now on see the rows of the tower's batch from `first_row` on: their random
  /// streams begin anew, for these rows.
  void begin_micro_batch(std::int64_t first_row);
  void end_micro_batches() { first_row_ = 0; }           ///< begin_micro_batch() no longer counts
  std::int64_t first_row() const { return first_row_; }  ///< the present micro-batch's, or 0

  /// 0 for the first call with this scope path, then 1, 2, ...: tells the random streams of one
  /// scope apart, reproducibly.
  int next_stream(const std::string& scope);

 private:
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Node*> effects_;
  std::vector<Node*> variables_;
  std::unique_ptr<Placement> placement_;
  std::map<std::string, int> streams_;
  InputRule input_rule_;
  bool keeps_idle_nodes_ = false;
  int towers_ = 1;
  std::int64_t first_row_ = 0;
};

class Scope;

/// Makes a node. The graph and, unless a scope is given, the place are those of the inputs.
///@{
Node& apply(const OpDef& op, std::vector<Tensor> inputs, Options options = {});
Node& apply(const OpDef& op, const Scope& scope, std::vector<Tensor> inputs, Options options = {});
///@}
/// Error naming op and number of an undefined operand, for what looks at operands before apply().
///@{
void require_defined(std::string_view op, std::span<const Tensor> operands);
inline void require_defined(std::string_view op, std::initializer_list<Tensor> operands) {
  require_defined(op, std::span(operands.begin(), operands.size()));
}
///@}
/// As apply, for ops with one output.
Tensor apply1(const OpDef& op, std::vector<Tensor> inputs, Options options = {});

/// The context of a gradient rule: the node and the gradients of its outputs.
class GradContext {
 public:
  /// A gradient for each output of `node`. Both must outlive it.
  GradContext(const Node& node, std::span<const Tensor> output_gradients)
      : node_(node), dy_(output_gradients) {}

  const Node& node() const { return node_; }  ///< the node to differentiate
  /// The tensors that the node reads and makes. Numbers are not checked.
  ///@{
  const Tensor& input(int i = 0) const { return node_.input(i); }
  int input_count() const { return node_.inputs().size(); }
  Tensor output(int i = 0) const;
  ///@}
  /// Gradient of output i; undefined when nothing depends on that output.
  const Tensor& dy(int i = 0) const { return dy_[i]; }
  /// The node's options.
  template <OptionStruct T>
  const T& as() const {
    return node_.as<T>();
  }

 private:
  const Node& node_;
  std::span<const Tensor> dy_;
};

// ---- graphs as text and as Graphviz dot

/// One line a node: `%3 = conv2d(%0, %1) stride=[1, 1] : f32[8, 14, 14, 32]  # conv1`.
std::string to_text(const Graph& graph);

/// For `dot -Tsvg`: nodes grouped by the first part of their scope, edges labelled with types.
std::string to_dot(const Graph& graph);

}  // namespace belfry
