#pragma once
// Scopes name things: variables, places in messages, streams of random numbers.

#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/graph/graph.h"
#include "belfry/framework/graph/leaves.h"

namespace belfry {

/// A path in a graph, for example discriminator/down1. `s / "down2"` is the path one deeper. A
/// value; valid while its graph lives.
class Scope {
 public:
  explicit Scope(Graph& graph) : graph_(&graph) {}

  Scope operator/(
      std::string_view name) const;  ///< Error: empty name, or one with '/' or control characters
  /// The same path, placed on device `slot` of the tower's group.
  Scope on(int slot) const;
  /// The same path, where a variable that exists already is used again instead of being an error.
  Scope shared() const;

  const std::string& path() const { return placement_.scope; }
  const Placement& placement() const { return placement_; }
  Graph& graph() const { return *graph_; }

  struct VariableArgs {
    Shape shape = {};
    DType dtype = DType::f32;
    Initializer initializer = {};  ///< zeros unless set
    VariableKind kind = VariableKind::parameter;
    OverTowers over_towers = OverTowers::mirrored;
    /// Whether an evaluation or a prediction may make this variable although training does not have
    /// it: it then keeps its first value, and is in no checkpoint and no export. false: that is an
    /// Error.
    bool outside_training = false;
  };
  /// The variable <path>/<name>. Error: it exists already and the scope is not shared(), or it does
  /// with another type; a parameter that is not mirrored.
  Variable variable(std::string_view name, const VariableArgs& args) const;

  /// A number for one more stream of random numbers under this path.
  std::uint64_t next_stream() const;

 private:
  Graph* graph_;
  Placement placement_;
  bool shared_ = false;
};

/// As constant(Graph&, ...), placed in the scope.
Tensor constant(const Scope& scope, Array value);
Tensor constant(const Scope& scope, double value, DType dtype);

/// Parameters whose names begin with `path` + "/"; all of them for an empty path.
std::vector<Variable> trainable_variables(const Graph& graph, std::string_view path = "");

}  // namespace belfry
