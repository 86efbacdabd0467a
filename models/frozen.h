#pragma once
// A trained model as a fixed function inside another model.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belfry/framework/framework.h"
#include "belfry/framework/tensor/safetensors.h"

namespace belfry::models {

/// Options of a Frozen model.
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

  /// Tensors by name, in the model's order.
  class Predictions {
   public:
    /// Made by Frozen.
    explicit Predictions(NamedTensors items) : items_(std::move(items)) {}
    Tensor at(std::string_view name) const;      ///< Error listing the names
    bool contains(std::string_view name) const;  ///< whether the model has such a prediction
    /// From the first pair of name and tensor to behind the last.
    ///@{
    auto begin() const { return items_.begin(); }
    auto end() const { return items_.end(); }
    ///@}

   private:
    NamedTensors items_;
  };
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
