#pragma once
// Reading label sequences off the frames of a network trained with ctc_loss(), on the host: for
// programs, one recording at a time. Whole batches inside a step:
// framework/ops/sequence/sequences.h.

#include <cstdint>
#include <vector>

#include "belfry/framework/ops/sequence/sequences.h"
#include "belfry/framework/tensor/array.h"

namespace belfry::models {

/// A label sequence that was read off.
struct CtcPath {
  std::vector<std::int64_t> labels = {};  ///< without blanks
  double log_probability = 0;             ///< natural logarithm; of what, each function says
};

/// The most probable class of each frame, with repeats merged and then blanks removed, as
/// ctc_greedy_decode(); its probability is that of this one alignment. `logits`, floating [t,
/// classes], before softmax; probabilities of frames multiply. To leave out padding, pass
/// logits.rows(0, length). Error: other types or shapes, no classes, NaN, a frame of nothing but
/// minus infinity, a blank that is no class.
CtcPath ctc_best_path(const Array& logits, CtcDecodeOptions options = {});

/// Options of ctc_beam_search().
struct CtcBeamOptions {
  int width = 16;          ///< sequences kept from frame to frame, at least 1
  int paths = 1;           ///< sequences returned, at least 1; at most `width` are found
  std::int64_t blank = 0;  ///< class of the blank; negative ones count from the end
};
/// The most probable label sequences, best first, by prefix beam search (Hannun, Maas, Jurafsky and
/// Ng, "First-pass large vocabulary continuous speech recognition using bi-directional recurrent
/// DNNs", 2014, algorithm 1, without a language model; after Graves, "Supervised sequence labelling
/// with recurrent neural networks", 2012, section 7.5). The probability of a sequence is summed
/// over its alignments, of which those count whose beginnings stayed among the `width` best: it is
/// that of exp(-ctc_loss()) where nothing was left out, and else below. In double, in the log
/// domain. Time: t * width * classes. Of equal sequences the one that comes first in the order of
/// its labels. Error: as ctc_best_path(); width or paths below 1.
std::vector<CtcPath> ctc_beam_search(const Array& logits, CtcBeamOptions options = {});

}  // namespace belfry::models
