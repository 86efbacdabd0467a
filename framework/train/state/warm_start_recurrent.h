#pragma once
// Weights of recurrent layers as PyTorch and Keras have them. Internal to train/.

#include <optional>
#include <string>

#include "belfry/framework/train/state/warm_start_values.h"

namespace belfry {

/// `source`, found under `source_name` among `all`, as a value of a recurrent layer's variable, its
/// type not yet converted; nothing if it is not one of these:
///
/// - PyTorch's weight_ih_l0, weight_hh_l0, bias_ih_l0 and bias_hh_l0 (and _reverse): matrices are
///   transposed, the gates of a GRU, which are those of three, change from reset, update, new to
///   update, reset, new; a `bias` is the sum of both unless the model, `has_second_bias`, has a
///   `recurrent_bias` beside it.
/// - the bias [2, width] of Keras' GRU, where the model has a `recurrent_bias`: `bias` is its first
///   row, `recurrent_bias` its second.
std::optional<ConvertedValue> recurrent_value(const VariableOptions& wanted,
                                              const std::string& source_name, const Array& source,
                                              const NamedArrays& all, bool has_second_bias);

}  // namespace belfry
