#pragma once
// Sequences of labels, of different lengths: reading them off a network's frames, and how far they
// are from what they should be. Whole numbers, through which no gradient flows.

#include <cstdint>

#include "belfry/framework/graph/graph.h"

namespace belfry {

/// A batch of sequences: of row i the first lengths[i] labels count, what stands behind them is
/// padding.
struct Sequences {
  Tensor labels;   ///< i32 or i64 [n, l]
  Tensor lengths;  ///< i32 or i64 [n], each in 0..l
};

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

struct EditDistanceOptions {
  bool words = false;           ///< compare words in place of labels
  std::int64_t separator = -1;  ///< label between words, of which any number part two words; one
                                ///< that never occurs makes a row one word
  static void fields(auto& o, auto&& field) {
    field("words", o.words);
    field("separator", o.separator);
  }
};
struct EditDistance {
  Tensor distance;  ///< i64 [n]
  Tensor length;    ///< i64 [n]: labels, or words, of the truth
};
/// The least number of labels (or words) that must be inserted, removed or replaced to turn the
/// hypothesis into the truth, for each row (Levenshtein 1966). Not divided by lengths.
/// Time: the product of the two lengths a row. Error: shapes and types that are not as in
/// Sequences, other numbers of rows; when the step runs, a length outside 0..l.
EditDistance edit_distance(Sequences truth, Sequences hypothesis, EditDistanceOptions options = {});

}  // namespace belfry
