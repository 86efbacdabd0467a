#pragma once
// A random model as tests compare it: with its gradients, and what is fed to it.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "belfry/framework/graph/graph.h"
#include "random_graph.h"

namespace belfry::random_models {

/// One model with the gradients of a weighted sum of its outputs.
class Subject {
 public:
  using Feed = std::map<std::string, Array>;

  Subject(std::uint64_t seed, DType floating, Graph::InputRule rule = {});

  Graph& graph() { return graph_; }
  const std::vector<Tensor>& outputs() const { return outputs_; }
  const std::vector<Tensor>& whole() const { return whole_; }
  const std::vector<Tensor>& gradient_tensors() const { return gradients_; }
  const std::vector<Tensor>& xs() const { return xs_; }
  const std::vector<bool>& depends() const { return present_; }
  const Tensor& loss() const { return loss_; }
  bool is_penalised() const { return is_penalised_; }

  /// Inputs and variables, of which each element is changed by a fraction of it, up or down.
  Feed feed(double fraction = 0, std::uint64_t draw = 0) const;

 private:
  Tensor weighted_sum();
  void add_gradient_penalty();

  std::uint64_t seed_;
  DType floating_;
  Graph graph_;
  std::vector<Tensor> outputs_, whole_, xs_, gradients_;
  std::vector<bool> present_;
  Tensor loss_;
  bool is_penalised_ = false;
};

}  // namespace belfry::random_models
