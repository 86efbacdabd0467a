#pragma once
// Recurrent layers: sequences in, what the units gave at each step and the last state out.

#include <cstdint>
#include <vector>

#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/recurrent/recurrent.h"

namespace belfry {

/// Options of lstm(), gru() and simple_rnn().
struct RecurrentLayerOptions {
  std::int64_t units;  ///< size of the state in each direction; required
  int layers = 1;      ///< one on top of the other
  bool bidirectional =
      false;             ///< each layer also from the last step to the first; results side by side
  bool use_bias = true;  ///< adds `bias` to x W, and for gru `recurrent_bias` to h U
  /// A second bias for the other cells, too: PyTorch's, which adds nothing that the first could
  /// not.
  bool recurrent_bias = false;
  double forget_bias = 1;  ///< first value of the bias of the forget gate (lstm)
  float dropout = 0;       ///< fraction of what goes from a layer to the next, in [0, 1)
  bool training = false;   ///< whether there is dropout
  Initializer kernel_initializer = glorot_uniform();  ///< of W
  Initializer recurrent_initializer = orthogonal();   ///< of U
  /// i32 or i64 [n], each in 0..t: steps of each row that count. None: all.
  Tensor lengths = {};
  /// The states before the first step, [n, units] each: layer by layer, of a bidirectional one the
  /// forward direction first. None: zeros.
  std::vector<RecurrentState> initial = {};
};

/// Results of a recurrent layer.
struct RecurrentResult {
  Tensor y;     ///< [n, t, units], twice as wide if bidirectional; 0 behind a row's length
  Tensor last;  ///< [n, units], the same width: h of the last layer when all steps are done
  std::vector<RecurrentState> states;  ///< behind the last step, in the order of `initial`
};

/// Long short-term memory: x [n, t, c]. Variables `kernel` [c, 4 units], `recurrent_kernel`
/// [units, 4 units] and `bias` [4 units] under `s`, gates i, f, g, o, as in Keras; of several
/// layers under `layer0`, `layer1`, ..., of two directions in these under `forward` and `backward`.
/// RecurrentCell has the formulas. The products of all steps with `kernel` are one; the step runs
/// the rest step by step. Error: units below 1 or above 2^30, layers below 1,
/// dropout outside [0, 1), another number of initial states than layers times directions; as
/// recurrent().
RecurrentResult lstm(const Scope& s, Tensor x, RecurrentLayerOptions options);

/// Gated recurrent units: as lstm(), with 3 gates (update, reset, new) and a second bias
/// `recurrent_bias` [3 units]. That of PyTorch, and of Keras with reset_after.
RecurrentResult gru(const Scope& s, Tensor x, RecurrentLayerOptions options);

/// Units without gates, h = tanh(x W + h U + b): as lstm().
RecurrentResult simple_rnn(const Scope& s, Tensor x, RecurrentLayerOptions options);

/// The layer of any cell: RecurrentCell::lstm, gru and tanh give those above. Other cells: scan().
RecurrentResult recurrent_layers(const Scope& s, Tensor x, RecurrentCell cell,
                                 RecurrentLayerOptions options);

}  // namespace belfry
