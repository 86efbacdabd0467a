#pragma once
// A model's layers: what they compute, how large they are and how much work they are.

#include <cstdint>
#include <string>
#include <vector>

#include "belfry/framework/train/estimator_spec.h"

namespace belfry {

/// Variables of one kind.
struct VariableCount {
  /// Sums over the variables.
  ///@{
  std::int64_t elements = 0, bytes = 0;
  ///@}
};

/// The part of a model that belongs to one scope, without the scopes in it.
struct LayerSummary {
  std::string scope;  ///< path; empty: the root
  /// Names of the ops of its forward pass, each once: that with the most work first, then in order.
  std::vector<std::string> ops = {};
  /// The value that it hands on: of those that other scopes read, the last, before it is flattened;
  /// where there is none, the result of the last node whose op is the first of `ops`. Undefined
  /// where there are no ops.
  TensorType output = {};
  std::int64_t parameters = 0;   ///< elements
  std::int64_t not_trained = 0;  ///< of these; in train mode: that no update changes
  double flops = 0;              ///< of the forward pass, of one example
};

/// A model for batches of some signature.
///
/// FLOPs are those of the forward pass up to the losses (in predict mode, the predictions), as the
/// model_fn wrote it: nothing is fused or left out yet. They are the floating-point operations of
/// OpDef::flops: matmul and convolutions, transposed and depthwise ones included, count a multiply
/// and an add for each term of their sums, as if padding were data; pools one for each place of
/// each window, reductions and argmax one for each element that they reduce, normalisations,
/// softmax, losses, dropout and bilinear resizing a number for each element that is said beside the
/// op; any other elementwise op one for each element of its result; what moves or draws data none.
struct ModelSummary {
  Mode mode = Mode::train;                ///< the mode for which it was built
  std::int64_t rows = 0;                  ///< of the batch
  std::vector<LayerSummary> layers = {};  ///< in the order of their first ops
  /// All parameters; in train mode, those among them that no update changes; all statistics.
  ///@{
  VariableCount parameters = {}, not_trained = {}, statistics = {};
  ///@}
  double flops = 0;  ///< of one example
};

/// Calls model_fn; runs nothing. Error: what model_fn throws, or validate() of what it returns.
ModelSummary summarize(const ModelFn& model_fn, Mode mode, const Signature& signature);

/// A table of at most 80 columns, unless paths of scopes are long, and the totals. Shapes have n
/// for the rows of the batch; sizes are those of one row.
std::string to_string(const ModelSummary& summary);

}  // namespace belfry
