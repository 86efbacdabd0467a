#pragma once
// The graph's leaves (inputs, constants, variables), how variables get their first values, and
// assignment to them.

#include <cstdint>
#include <string>
#include <string_view>

#include "belfry/framework/base/fields.h"
#include "belfry/framework/graph/graph.h"
#include "belfry/framework/tensor/array.h"

namespace belfry {

struct PhiloxKey;

/// A way to fill a new variable: a plain value that can be printed and compared. Made by the
/// functions below. `fan_in` and `fan_out` are the products of the kernel sizes with the last but
/// one and the last axis: shape [kh, kw, in, out] has fan_in = kh * kw * in; [in, out] has fan_in =
/// in; a vector [n] has fan_in = fan_out = n.
struct Initializer {
  /// How the values are made. variance_scaling draws them from `distribution`, with mean 0 and
  /// variance a / max(1, fan).
  enum class Kind : std::uint8_t {
    constant,
    uniform,
    normal,
    truncated_normal,
    variance_scaling,
    orthogonal,
    given
  };
  friend constexpr auto names_of(Kind) {
    return name_list("constant", "uniform", "normal", "truncated_normal", "variance_scaling",
                     "orthogonal", "given");
  }
  /// The fan of variance_scaling: fan_in, fan_out or their mean.
  enum class Fan : std::uint8_t { in, out, average };
  friend constexpr auto names_of(Fan) { return name_list("in", "out", "average"); }

  Kind kind = Kind::constant;  ///< how the values are made
  double a = 0;  ///< constant: value; uniform: low; normal: mean; scaling: scale; orthogonal: gain
  double b = 0;  ///< uniform: high; normal: standard deviation
  Fan fan = Fan::in;                           ///< for variance_scaling
  Kind distribution = Kind::truncated_normal;  ///< of variance_scaling
  Array value = {};                            ///< of given

  /// Fills `out` from the stream named by `key`. Error: type or shape that this way cannot fill.
  void fill(Array& out, PhiloxKey key) const;
};

std::string to_string(const Initializer& initializer);  ///< the way with all its parameters

/// One value for all elements: 0, 1 or `value`.
///@{
Initializer zeros();
Initializer ones();
Initializer constant_value(double value);
///@}
/// Uniform from `low` to `high`.
Initializer uniform(double low, double high);
/// Normal with this mean and standard deviation.
Initializer normal(double mean = 0, double standard_deviation = 1);
/// Normal, redrawn until within two standard deviations of the mean.
Initializer truncated_normal(double mean = 0, double standard_deviation = 1);
/// Uniform in +-sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, AISTATS 2010, equation 16).
Initializer glorot_uniform();
/// Normal, truncated, of variance 2 / (fan_in + fan_out).
Initializer glorot_normal();
/// Uniform in +-sqrt(6 / fan_in) (He et al., ICCV 2015, equation 10).
Initializer he_uniform();
/// Normal, truncated, of variance 2 / fan_in.
Initializer he_normal();
/// An orthogonal matrix times `gain` (Saxe et al., ICLR 2014): all axes but the last as rows; rank
/// at least 2.
Initializer orthogonal(double gain = 1);
/// These very values.
Initializer given(Array value);

/// A value fed at each run.
struct InputOptions {
  std::string name;  ///< the name under which it is fed, unique in its graph
  TensorType type;   ///< shape and dtype of each fed value
  BELFRY_FIELDS(name, type)
};
extern const OpDef input_op;  ///< the op of input()
/// A new input. Error: the graph has one of this name.
Tensor input(Graph& graph, const std::string& name, const TensorType& type);

/// A value known when the graph is built.
struct ConstantOptions {
  Array value;  ///< defined
  BELFRY_FIELDS(value)
};
extern const OpDef constant_op;  ///< the op of constant()
/// It lies where the graph places what is made now; constant(scope, ...) takes the place of a
/// scope.
Tensor constant(Graph& graph, Array value);
/// `value` as a scalar of type `dtype`.
Tensor constant(Graph& graph, double value, DType dtype);

/// The purpose of a variable: memory is reported by it, and optimizers change parameters only.
enum class VariableKind : std::uint8_t {
  parameter,  ///< trained
  statistic,  ///< part of the model but not trained, for example a moving mean
  slot,       ///< kept by an optimizer, or as a moving average
};
constexpr auto names_of(VariableKind) { return name_list("parameter", "statistic", "slot"); }

/// The way in which several towers share a variable. Parameters and slots are mirrored.
enum class OverTowers : std::uint8_t {
  mirrored,   ///< one value; what the towers assign is averaged, weighted by their rows
  first,      ///< one value; what the first tower assigns counts, if it has rows
  sum,        ///< each tower has its own; read from outside the step it is their sum
  mean,       ///< each has its own; read from outside it is their mean
  per_tower,  ///< each has its own; read from outside it is the first tower's
};
constexpr auto names_of(OverTowers) {
  return name_list("mirrored", "first", "sum", "mean", "per_tower");
}
/// Whether towers hold different values.
inline bool differs_over_towers(OverTowers o) {
  return o != OverTowers::mirrored && o != OverTowers::first;
}

/// Options of variable_op; Scope::variable() fills them.
struct VariableOptions {
  std::string name;                               ///< full path, for example "conv1/kernel"
  TensorType type;                                ///< shape and dtype
  Initializer initializer = {};                   ///< the value before the first step
  VariableKind kind = VariableKind::parameter;    ///< its purpose
  OverTowers over_towers = OverTowers::mirrored;  ///< how towers share it
  bool outside_training = false;                  ///< see Scope::VariableArgs
  BELFRY_FIELDS(name, type, initializer, kind, over_towers)
};
/// A value that outlives the step. Read through its tensor, it is the value before the step.
extern const OpDef variable_op;

/// A variable in a graph: converts to the tensor that reads it.
class Variable {
 public:
  Variable() = default;  ///< none: it can be assigned to, copied and compared
  /// `node` is one of variable_op.
  explicit Variable(Node& node) : node_(&node) {}
  /// The tensor that reads it: its value before the step.
  ///@{
  operator Tensor() const { return Tensor(*node_); }  // NOLINT(google-explicit-constructor)
  Tensor value() const { return Tensor(*node_); }
  ///@}
  Node& node() const { return *node_; }  ///< the node of variable_op
  /// Its options, and some of them: name() is the full path.
  ///@{
  const std::string& name() const { return options().name; }
  const TensorType& type() const { return options().type; }
  const Shape& shape() const { return options().type.shape; }
  const VariableOptions& options() const;
  ///@}
  bool operator==(const Variable&) const = default;  ///< whether the node is the same

 private:
  Node* node_ = nullptr;
};

/// After the step's reads, `variable` becomes `value` (same type).
///@{
extern const OpDef assign_op;
Node& assign(Variable variable, Tensor value);
///@}

/// The number of finished steps, i64 [], fed by the runtime.
Tensor global_step(Graph& graph);
/// Seed, step and first global row of this tower's batch, i64 [3], fed by the runtime. An input
/// of every op that draws random numbers: with the op's own `stream` they name each number, so
/// results do not depend on the number of towers or threads, and a gradient can draw the same
/// numbers again.
Tensor random_state(Graph& graph);
/// The tower's rows as a fraction of all towers' rows, f64 []: 0 for a tower without rows. Fed by
/// the runtime.
Tensor tower_weight(Graph& graph);
/// The tower's number among all, i64 []. Fed by the runtime.
Tensor tower_index(Graph& graph);

/// The names of these inputs.
///@{
inline constexpr std::string_view global_step_input = "run/global_step";
/// For a micro-batch that begins at row r of the tower's batch: "run/random_state/<r>".
inline constexpr std::string_view random_state_input = "run/random_state";
inline constexpr std::string_view tower_weight_input = "run/tower_weight";
inline constexpr std::string_view tower_index_input = "run/tower_index";
///@}

/// Whether a node computes nothing: an input, a constant or a variable.
bool is_leaf(const Node& node);

}  // namespace belfry
