#pragma once
// A trained model as a fixed function inside another model.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "belfry/framework/framework.h"
#include "belfry/framework/tensor/safetensors.h"

namespace belfry::models {

struct FrozenOptions {
  ModelFn model_fn = {};          ///< that of the checkpoint; built in predict mode
  std::string checkpoint = {};    ///< path, or a model_dir, which stands for its newest one
  std::string feature = "image";  ///< the one feature that predicting needs
};

/// Computes a trained model's predictions of a tensor, in f32 also where the model around it
/// computes in 16 bits:
///
///   models::Frozen classifier({.model_fn = models::lenet(), .checkpoint = "runs/classifier"});
///   Tensor features = classifier(images).at("features");   // in a model_fn
///
/// The weights become constants of the graph: they are in no checkpoint of the model around it and
/// nothing trains them, but gradients flow through to the tensor. A value; copies share the
/// weights. Any number of threads may call it.
class Frozen {
 public:
  /// Reads the checkpoint, once. Error: there is none, or it cannot be read.
  explicit Frozen(FrozenOptions options);

  using Predictions = std::map<std::string, Tensor, std::less<>>;
  /// All predictions of `data` [n, ...]; what is not used is not computed. Error: the model asks
  /// for another feature, or for a variable that the checkpoint has not, or has in another type.
  Predictions operator()(Tensor data) const;

 private:
  using Copies = std::vector<std::vector<Tensor>>;  // by node, for each of its outputs
  std::vector<Tensor> copy(const Node& old, Tensor data, const Copies& copies) const;
  const Array& weight(const VariableOptions& wanted) const;

  ModelFn model_fn_;
  std::string feature_, path_;
  NamedArrays weights_;
};

}  // namespace belfry::models
