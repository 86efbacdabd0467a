#pragma once
// A part of a model that is used more than once with the same variables.

#include <array>
#include <concepts>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "belfry/framework/graph/scope.h"

namespace belfry {

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
  using Body = std::function<Tensor(Scope, std::span<const Tensor>)>;

  Network(const Scope& scope, Body body) : scope_(scope), body_(std::move(body)) {}
  template <class F>
  requires std::invocable<F, Scope, Tensor> Network(const Scope& scope, F body)
      : Network(scope, Body([f = std::move(body)](Scope s, std::span<const Tensor> in) -> Tensor {
                  require(in.size() == 1, "network: ", s.path(), " takes one tensor, got ",
                          in.size());
                  return f(std::move(s), in[0]);
                })) {}

  template <class... Tensors>
  Tensor operator()(const Tensors&... inputs) {
    std::array<Tensor, sizeof...(inputs)> list{Tensor(inputs)...};
    return call(list);
  }

  const Scope& scope() const { return scope_; }
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
