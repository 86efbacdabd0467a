#pragma once
// Models put together at random, the same for the same seed.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "belfry/framework/graph/scope.h"
#include "belfry/framework/tensor/array.h"

namespace belfry::random_models {

struct GraphOptions {
  std::uint64_t seed = 0;
  DType floating = DType::f32;   ///< inputs and variables; any gives the same model
  bool rows_apart = false;       ///< no op mixes rows of axis 0, which all inputs have
  bool batch_statistics = true;  ///< whether batch_norm may normalise with the batch's own
};

/// The inputs of the model of a seed, by name; [rows, ...] where rows are apart.
using InputTypes = std::vector<std::pair<std::string, TensorType>>;
InputTypes input_types(const GraphOptions& options, std::int64_t rows);
/// Elements for an input or variable of this name: floating ones as f64.
Array elements_of(std::uint64_t seed, const std::string& name, const TensorType& type);

struct Model {
  std::vector<Tensor> outputs;         ///< floating
  std::vector<Tensor> whole;           ///< i64, i32 or u8
  std::vector<Tensor> differentiable;  ///< the inputs that may be differentiated by
};
/// Builds the model under the scope; `input` gives the tensor of a name.
Model build(const Scope& scope, const GraphOptions& options,
            const std::function<Tensor(const std::string& name)>& input);

}  // namespace belfry::random_models
