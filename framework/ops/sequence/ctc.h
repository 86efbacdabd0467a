#pragma once
// Connectionist temporal classification: training on sequences whose labels are not aligned with
// the frames (Graves, Fernandez, Gomez, Schmidhuber, ICML 2006).

#include <cstdint>

#include "belfry/framework/graph/graph.h"

namespace belfry {

struct CtcOptions {
  /// Class of the blank, 0 as in PyTorch and in TensorFlow for dense labels. Negative ones count
  /// from the end: -1 is the last class, which is the blank of Keras' ctc_batch_cost.
  std::int64_t blank = 0;
  /// Rows whose labels have no path through the frames, because these are too few or logits are
  /// minus infinity, have loss 0 and gradient 0 in place of an error and of infinity (PyTorch's
  /// option of this name; TensorFlow's ignore_longer_outputs_than_inputs).
  bool zero_infinity = false;
  static void fields(auto& o, auto&& field) {
    field("blank", o.blank);
    field("zero_infinity", o.zero_infinity);
  }
};

/// -log of the probability that frames whose classes are drawn independently from softmax(logits)
/// read as the labels once repeats are merged and then blanks removed: logits [n, t, classes] of a
/// floating type, labels [n, l], logit_lengths [n] and label_lengths [n] of i32 or i64 -> [n] in
/// f32, or f64 when the logits are. The first logit_lengths[i] frames and the first
/// label_lengths[i] labels of row i count; what stands behind them is not read, and the gradient
/// there is 0. The gradient with respect to the logits is softmax minus the probability, given the
/// labels, that a frame has the class (equation 16 there); that of the gradient is not there.
///
/// Labels that need a logit of minus infinity have an infinite loss; a logit that is NaN makes the
/// loss of its row NaN. The gradient has NaN in the row in both cases.
///
/// Error: shapes and types that are not as above. When the step runs: a length outside 0..t or
/// 0..l, a label outside 0..classes-1 or equal to the blank and, unless zero_infinity, labels that
/// need more frames than the row has: one each and one more between equal neighbours.
Tensor ctc_loss(Tensor logits, Tensor labels, Tensor logit_lengths, Tensor label_lengths,
                CtcOptions options = {});

}  // namespace belfry
