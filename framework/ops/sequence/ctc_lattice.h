#pragma once
// The common parts of the kernels of the CTC loss on every device: the op objects with their
// operands, the batch, and one step of the recursions over the states of a row. nvcc reads this
// file too.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

#include "belfry/framework/base/host_device.h"
#include "belfry/framework/graph/op_def.h"
#include "belfry/framework/ops/sequence/sequences.h"

namespace belfry {

/// (logits [n, t, classes], labels [n, l], logit lengths [n], label lengths [n], all three i64) ->
/// (loss [n], log of the sum of exponentials of each frame [n, t], log alpha [n, t, 2 l + 1]). The
/// last two are f64 for all logits: they grow with t, and the gradient needs what is behind the
/// point. Behind a row's lengths they hold anything. CtcOptions with blank counted from 0.
extern const OpDef ctc_loss_op;
/// (dy [n], logits, labels, logit lengths, label lengths, log sums, log alpha) -> dlogits
extern const OpDef ctc_loss_grad_op;

/// Advice about labels that do not fit, for messages.
constexpr std::string_view ctc_unfitting =
    " (one for each label and one more between equal neighbours); leave such rows out, let the "
    "model keep more frames, or set the option zero_infinity to have them count 0";

constexpr double ctc_impossible = -std::numeric_limits<double>::infinity();

/// log(exp(a) + exp(b) + exp(c)). The exponentials and the logarithm are taken in C, of differences
/// and of a number in [1, 3], where C rounds no more than it does elsewhere.
template <class C>
BELFRY_HOST_DEVICE double log_sum_exp(double a, double b, double c) {
  double highest = a;
  if (b > highest) highest = b;
  if (c > highest) highest = c;
  if (highest == ctc_impossible) return highest;
  C sum = std::exp(static_cast<C>(a - highest)) + std::exp(static_cast<C>(b - highest))
          + std::exp(static_cast<C>(c - highest));
  return highest + static_cast<double>(std::log(sum));
}

/// The labels of one row with blanks before, between and behind them (section 4.1 of the paper):
/// state 2 i + 1 is label i, even states are blanks. A path begins in one of the first two states,
/// ends in one of the last two, and in each frame stays, goes on by one, or skips the blank between
/// two labels that differ.
struct CtcLattice {
  const std::int64_t* labels;
  std::int64_t label_count, classes, blank;

  BELFRY_HOST_DEVICE std::int64_t states() const { return 2 * label_count + 1; }
  /// Always a class: kernels that find a label outside only after the fact read nothing else.
  BELFRY_HOST_DEVICE std::int64_t symbol(std::int64_t s) const {
    if (s % 2 == 0) return blank;
    std::int64_t label = labels[s / 2];
    return label < 0 ? 0 : label < classes ? label : classes - 1;
  }
  BELFRY_HOST_DEVICE bool is_skipped_to(std::int64_t s) const {
    return s % 2 == 1 && s >= 3 && labels[s / 2] != labels[s / 2 - 1];
  }

  BELFRY_HOST_DEVICE double begin(std::int64_t s) const { return s < 2 ? 0 : ctc_impossible; }
  BELFRY_HOST_DEVICE double end(std::int64_t s) const {
    return s >= states() - 2 ? 0 : ctc_impossible;
  }
  /// Log of the sum over the states from which a path may come to s; `before` has one value each.
  template <class C>
  BELFRY_HOST_DEVICE double arrive(const double* before, std::int64_t s) const {
    return log_sum_exp<C>(before[s], s >= 1 ? before[s - 1] : ctc_impossible,
                          is_skipped_to(s) ? before[s - 2] : ctc_impossible);
  }
  /// Log of the sum over the states to which a path may go from s.
  template <class C>
  BELFRY_HOST_DEVICE double leave(const double* after, std::int64_t s) const {
    bool skips = s + 2 < states() && is_skipped_to(s + 2);
    return log_sum_exp<C>(after[s], s + 1 < states() ? after[s + 1] : ctc_impossible,
                          skips ? after[s + 2] : ctc_impossible);
  }
  /// Log of the probability of the labels, of log alpha [frames, stride].
  template <class C>
  BELFRY_HOST_DEVICE double log_probability(const double* alpha, std::int64_t frames,
                                            std::int64_t stride) const {
    if (frames == 0) return label_count == 0 ? 0 : ctc_impossible;
    const double* last = alpha + (frames - 1) * stride + states() - 1;
    return log_sum_exp<C>(last[0], label_count > 0 ? last[-1] : ctc_impossible, ctc_impossible);
  }
};

/// The batch, of which kernels of a GPU read the lengths before they know them to be right.
struct CtcBatch {
  std::int64_t rows, frames, max_length, classes;  ///< n, t, l and classes
  std::int64_t blank;
  bool zero_infinity;
  const std::int64_t *labels = nullptr, *logit_lengths = nullptr, *label_lengths = nullptr;

  /// The batch of a node with these operands.
  static CtcBatch of(const Shape& logits, const Shape& labels, const CtcOptions& options) {
    return {.rows = logits[0],
            .frames = logits[1],
            .max_length = labels[1],
            .classes = logits[2],
            .blank = options.blank,
            .zero_infinity = options.zero_infinity};
  }
  /// With labels, logit lengths and label lengths, in the order of the operands.
  CtcBatch with(const void* labels_, const void* logit_lengths_, const void* label_lengths_) const {
    CtcBatch batch = *this;
    batch.labels = static_cast<const std::int64_t*>(labels_);
    batch.logit_lengths = static_cast<const std::int64_t*>(logit_lengths_);
    batch.label_lengths = static_cast<const std::int64_t*>(label_lengths_);
    return batch;
  }

  BELFRY_HOST_DEVICE std::int64_t states() const {
    return 2 * max_length + 1;
  }  ///< of the longest row
  BELFRY_HOST_DEVICE std::int64_t frames_of(std::int64_t row) const {
    return clamp(logit_lengths[row], frames);
  }
  BELFRY_HOST_DEVICE CtcLattice lattice(std::int64_t row) const {
    return {labels + row * max_length, clamp(label_lengths[row], max_length), classes, blank};
  }
  /// The loss of a row whose labels have this log probability.
  BELFRY_HOST_DEVICE double loss(double log_probability) const {
    return is_zero(log_probability) ? 0 : 0 - log_probability;
  }
  BELFRY_HOST_DEVICE bool is_zero(double log_probability) const {
    return zero_infinity && log_probability == ctc_impossible;
  }

 private:
  BELFRY_HOST_DEVICE static std::int64_t clamp(std::int64_t length, std::int64_t most) {
    return length < 0 ? 0 : length < most ? length : most;
  }
};

}  // namespace belfry
