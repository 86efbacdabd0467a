#pragma once
// Sequences of labels, of different lengths: reading them off a network's frames, how far they are
// from what they should be, and training on labels that are not aligned with the frames. Labels are
// whole numbers, through which no gradient flows.

#include <cstdint>

#include "belfry/framework/graph/graph.h"

namespace belfry {

/// A batch of sequences: of row i the first lengths[i] labels count, what stands behind them is
/// padding.
struct Sequences {
  Tensor labels;   ///< i32 or i64 [n, l]
  Tensor lengths;  ///< i32 or i64 [n], each in 0..l
};

/// Options of ctc_greedy_decode().
struct CtcDecodeOptions {
  std::int64_t blank = 0;  ///< class of the blank; negative ones count from the end, as in ctc_loss
};
/// The labels that the most probable class of each frame reads as, once repeats are merged and then
/// blanks removed (best path decoding; Graves et al., ICML 2006, section 3.2): logits
/// [n, t, classes] of a floating type, before or after softmax, and lengths [n] of i32 or i64 (the
/// first lengths[i] frames of row i count) -> i64, labels [n, t] with -1 behind a row's length, and
/// lengths [n]. The first of equal classes counts, and a NaN before any number, as in argmax().
/// This need not be the most probable sequence: see ctc_beam_search() in
/// models/sequences/ctc_decode.h.
///
/// Error: shapes and types that are not as above, a blank that is no class; when the step runs, a
/// length outside 0..t.
Sequences ctc_greedy_decode(Tensor logits, Tensor lengths, CtcDecodeOptions options = {});

/// The second half of that: path [n, t] of a whole type, a class for each frame.
Sequences ctc_collapse(Tensor path, Tensor lengths, std::int64_t blank = 0);

/// Options of edit_distance().
struct EditDistanceOptions {
  bool words = false;           ///< compare words in place of labels
  std::int64_t separator = -1;  ///< label between words, of which any number part two words; one
                                ///< that never occurs makes a row one word
  BELFRY_FIELDS(words, separator)
};
/// The results of edit_distance(), for each row.
struct EditDistance {
  Tensor distance;  ///< i64 [n]
  Tensor length;    ///< i64 [n]: labels, or words, of the truth
};
/// The least number of labels (or words) that must be inserted, removed or replaced to turn the
/// hypothesis into the truth, for each row (Levenshtein 1966). Not divided by lengths.
/// Time: the product of the two lengths a row. Error: shapes and types that are not as in
/// Sequences, other numbers of rows; when the step runs, a length outside 0..l.
EditDistance edit_distance(Sequences truth, Sequences hypothesis, EditDistanceOptions options = {});

// ---- connectionist temporal classification: training on sequences whose labels are not aligned
// with the frames (Graves, Fernandez, Gomez, Schmidhuber, ICML 2006)

/// Options of ctc_loss().
struct CtcOptions {
  /// Class of the blank, 0 as in PyTorch and in TensorFlow for dense labels. Negative ones count
  /// from the end: -1 is the last class, which is the blank of Keras' ctc_batch_cost.
  std::int64_t blank = 0;
  /// Rows whose labels have no path through the frames, because these are too few or logits are
  /// minus infinity, have loss 0 and gradient 0 in place of an error and of infinity (PyTorch's
  /// option of this name; TensorFlow's ignore_longer_outputs_than_inputs).
  bool zero_infinity = false;
  BELFRY_FIELDS(blank, zero_infinity)
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
