#pragma once
// The recurrence of recurrent layers: what they do step after step, behind the product of all
// steps' inputs with a kernel. Layers with all their variables are in layers/recurrent.h.

#include <cstdint>

#include "belfry/framework/base/fields.h"
#include "belfry/framework/graph/graph.h"

namespace belfry {

/// The work of a unit in a step. z is its part of the input, q its part of h U + b; gates lie one
/// behind the other in both.
enum class RecurrentCell : std::uint8_t {
  /// Gates i, f, g, o; c = sigmoid(f) c + sigmoid(i) tanh(g), h = sigmoid(o) tanh(c), each gate
  /// being
  /// z + q (Hochreiter & Schmidhuber 1997, with forget gates). Order and formula are those of Keras
  /// and PyTorch.
  lstm,
  /// Gates update, reset, new; n = tanh(z + sigmoid(reset) q), h = (1 - u) n + u h with
  /// u = sigmoid(update) (Cho et al. 2014, version 1): PyTorch's, cuDNN's and that of Keras with
  /// reset_after. The order is Keras's; PyTorch has reset first.
  gru,
  tanh,  ///< h = tanh(z + q) (Elman 1990)
  relu,  ///< h = max(z + q, 0)
};
constexpr auto names_of(RecurrentCell) { return name_list("lstm", "gru", "tanh", "relu"); }

/// Gates of a cell: 4, 3, 1, 1.
int recurrent_gates(RecurrentCell cell);

/// The state between two steps, [n, units] each. Only lstm has a c.
struct RecurrentState {
  Tensor h = {};  ///< what the units have given last
  Tensor c = {};  ///< what they remember
};

/// Operands of recurrent().
struct RecurrentOperands {
  Tensor z;                     ///< [n, t, gates units]: x W + b of each step
  Tensor kernel;                ///< U, [units, gates units]
  Tensor bias = {};             ///< [gates units], added to h U; undefined: none
  RecurrentState initial = {};  ///< before the first step; undefined: zeros
  Tensor lengths = {};          ///< i32 or i64 [n], each in 0..t; undefined: all steps of all rows
};

/// Options of recurrent().
struct RecurrentOptions {
  RecurrentCell cell = RecurrentCell::lstm;  ///< what the units do
  bool reverse = false;                      ///< from a row's last step to its first
  BELFRY_FIELDS(cell, reverse)
};

/// Results of recurrent().
struct Recurrence {
  Tensor y;              ///< [n, t, units]: h of each step; 0 behind a row's length
  RecurrentState final;  ///< behind the last step of each row
};

/// Runs a recurrent cell over the steps of each row: one op with its gradient. The first
/// lengths[i] steps of row i count; what stands behind them changes nothing, and its gradient is 0.
/// Types are those of z. Error: shapes and types that are not as above, an initial c for a cell
/// that has none or none for one of lstm; when the step runs, a length outside 0..t.
Recurrence recurrent(const RecurrentOperands& operands, RecurrentOptions options = {});

}  // namespace belfry
