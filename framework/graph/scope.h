#pragma once
// Scopes name things: variables, places in messages, streams of random numbers. A network is a part
// of a model that is used more than once with the same variables.

#include <array>
#include <concepts>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belfry/framework/graph/graph.h"
#include "belfry/framework/graph/leaves.h"

namespace belfry {

/// A path in a graph, for example discriminator/down1. `s / "down2"` is the path one deeper. A
/// value; valid while its graph lives.
class Scope {
 public:
  /// The root: an empty path, on device 0.
  explicit Scope(Graph& graph) : graph_(&graph) {}

  Scope operator/(
      std::string_view name) const;  ///< Error: empty name, or one with '/' or control characters
  /// The same path, placed on device number `device` of the tower's group.
  Scope on(int device) const;
  /// The same path, where a variable that exists already is used again instead of being an error.
  Scope shared() const;

  const std::string& path() const { return placement_.scope; }  ///< empty: the root
  const Placement& placement() const { return placement_; }     ///< where nodes made in it go
  Graph& graph() const { return *graph_; }                      ///< the graph that it is in

  /// Options of variable().
  struct VariableArgs {
    Shape shape = {};                               ///< [] unless set
    DType dtype = DType::f32;                       ///< type of the elements
    Initializer initializer = {};                   ///< zeros unless set
    VariableKind kind = VariableKind::parameter;    ///< its purpose
    OverTowers over_towers = OverTowers::mirrored;  ///< mirrored unless a statistic
    /// Whether an evaluation or a prediction may make this variable although training does not have
    /// it: it then keeps its first value, and is in no checkpoint and no export. false: that is an
    /// Error.
    bool outside_training = false;
  };
  /// The variable PATH/NAME. Error: it exists already and the scope is not shared(), or the
  /// scope is shared() and it exists with another type; a parameter that is not mirrored.
  Variable variable(std::string_view name, const VariableArgs& args) const;

  /// A number for one more stream of random numbers under this path.
  std::uint64_t next_stream() const;

 private:
  Graph* graph_;
  Placement placement_;
  bool shared_ = false;
};

/// As constant(Graph&, ...), placed in the scope.
///@{
Tensor constant(const Scope& scope, Array value);
Tensor constant(const Scope& scope, double value, DType dtype);
///@}

/// Parameters whose names begin with `path` + "/"; all of them for an empty path.
std::vector<Variable> trainable_variables(const Graph& graph, std::string_view path = "");

/// A function from tensors to a tensor with variables of its own. The first call makes the
/// variables, later calls use them again:
///
///   Network D(s / "discriminator", discriminator);   // Tensor discriminator(Scope, Tensor image)
///   Tensor real = D(image), fake = D(generated);     // one set of weights
///   minimize(loss, adam(), D.variables());
///
/// The body may also take several tensors: Tensor f(Scope, std::span<const Tensor>).
class Network {
 public:
  using Body =
      std::function<Tensor(Scope, std::span<const Tensor>)>;  ///< takes any number of tensors

  /// Runs nothing yet. With a body that takes one tensor, a call with another number is an Error.
  ///@{
  Network(const Scope& scope, Body body) : scope_(scope), body_(std::move(body)) {}
  template <class F>
  requires std::invocable<F, Scope, Tensor> Network(const Scope& scope, F body)
      : Network(scope, Body([f = std::move(body)](Scope s, std::span<const Tensor> in) -> Tensor {
                  require(in.size() == 1, "network: ", s.path(), " takes one tensor, got ",
                          in.size());
                  return f(std::move(s), in[0]);
                })) {}
  ///@}

  /// Calls the body in scope() with these inputs.
  template <class... Tensors>
  Tensor operator()(const Tensors&... inputs) {
    std::array<Tensor, sizeof...(inputs)> list{Tensor(inputs)...};
    return call(list);
  }

  const Scope& scope() const { return scope_; }  ///< where its variables are
  /// The network's parameters, in the order of their making. Empty before the first call.
  std::vector<Variable> variables() const {
    return trainable_variables(scope_.graph(), scope_.path());
  }

 private:
  Tensor call(std::span<const Tensor> inputs) {
    Tensor out = body_(called_ ? scope_.shared() : scope_, inputs);
    called_ = true;
    return out;
  }

  Scope scope_;
  Body body_;
  bool called_ = false;
};

}  // namespace belfry
