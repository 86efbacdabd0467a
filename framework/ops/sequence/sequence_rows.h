#pragma once
// The common parts of the kernels for sequences of labels on every device: the op objects, and the
// work on one row. nvcc reads this file too.

#include <cstdint>
#include <span>
#include <string_view>

#include "belfry/framework/base/host_device.h"
#include "belfry/framework/graph/op_def.h"
#include "belfry/framework/ops/sequence/sequences.h"

namespace belfry {

/// (path [n, t], lengths [n]) -> (labels [n, t], lengths [n]), all i64. CtcCollapseOptions.
extern const OpDef ctc_collapse_op;
/// (truth [n, l], its lengths [n], hypothesis [n, m], its lengths [n]) -> (distance [n], length
/// [n]), all i64. EditDistanceOptions.
extern const OpDef edit_distance_op;

struct CtcCollapseOptions {
  std::int64_t blank = 0;
  BELFRY_FIELDS(blank)
};

constexpr std::int64_t sequence_padding = -1;  ///< stands behind the labels that were read

/// An operand, rows of `max_length` labels.
struct SequenceRows {
  const std::int64_t *labels, *lengths;
  std::int64_t max_length;

  static SequenceRows of(const Shape& shape, const void* labels, const void* lengths) {
    return {static_cast<const std::int64_t*>(labels), static_cast<const std::int64_t*>(lengths),
            shape[1]};
  }
  BELFRY_HOST_DEVICE bool is_bad(std::int64_t row) const {
    return lengths[row] < 0 || lengths[row] > max_length;
  }
  /// 0 for a bad row: kernels of a GPU tell of it, and go on.
  BELFRY_HOST_DEVICE std::int64_t length(std::int64_t row) const {
    return is_bad(row) ? 0 : lengths[row];
  }
  BELFRY_HOST_DEVICE const std::int64_t* row(std::int64_t i) const {
    return labels + i * max_length;
  }
};

/// Error naming `op` and the operand unless labels and lengths are i64 [n, l] and [n].
void check_sequences(std::string_view op, std::string_view operand, const TensorType& labels,
                     const TensorType& lengths);
/// Error naming the first row whose length is bad.
void check_lengths(std::string_view op, std::string_view operand, const SequenceRows& rows,
                   std::int64_t count);
/// The same two, as i64. Error, naming op and operand, where they are undefined or of other types.
Sequences whole_sequences(std::string_view op, std::string_view operand, Sequences x);

/// Reads a path off: merges repeats, then removes blanks. Fills all of `labels` [path.places], and
/// returns how many count.
BELFRY_HOST_DEVICE inline std::int64_t collapse_row(const SequenceRows& path, std::int64_t row,
                                                    std::int64_t blank, std::int64_t* labels) {
  const std::int64_t* classes = path.row(row);
  std::int64_t frames = path.length(row), count = 0;
  for (std::int64_t t = 0; t < frames; ++t)
    if (classes[t] != blank && (t == 0 || classes[t] != classes[t - 1]))
      labels[count++] = classes[t];
  for (std::int64_t i = count; i < path.max_length; ++i) labels[i] = sequence_padding;
  return count;
}

/// A row as tokens: its labels, or its words, each from `begin` to before `end`.
struct Tokens {
  const std::int64_t* labels;
  std::int64_t length;
  EditDistanceOptions options;

  struct Token {
    std::int64_t begin, end;
    BELFRY_HOST_DEVICE bool exists() const { return begin < end; }
  };
  BELFRY_HOST_DEVICE Token first() const { return behind(0); }
  BELFRY_HOST_DEVICE Token after(const Token& token) const { return behind(token.end); }
  /// The first one that begins at `position` or later.
  BELFRY_HOST_DEVICE Token behind(std::int64_t position) const {
    if (!options.words) return {position, position < length ? position + 1 : position};
    while (position < length && labels[position] == options.separator) ++position;
    std::int64_t end = position;
    while (end < length && labels[end] != options.separator) ++end;
    return {position, end};
  }
};

BELFRY_HOST_DEVICE inline bool same_token(const Tokens& a, const Tokens::Token& in_a,
                                          const Tokens& b, const Tokens::Token& in_b) {
  std::int64_t size = in_a.end - in_a.begin;
  if (size != in_b.end - in_b.begin) return false;
  for (std::int64_t i = 0; i < size; ++i)
    if (a.labels[in_a.begin + i] != b.labels[in_b.begin + i]) return false;
  return true;
}

struct RowDistance {
  std::int64_t distance, length;  ///< length: tokens of the truth
};
/// Wagner and Fischer ("The string-to-string correction problem", J. ACM 1974), a column at hand:
/// `costs` [truth.length + 1] holds the distances between the hypothesis so far and beginnings of
/// the truth.
BELFRY_HOST_DEVICE inline RowDistance row_distance(const Tokens& truth, const Tokens& hypothesis,
                                                   std::int64_t* costs) {
  std::int64_t count = 0;
  costs[0] = 0;
  for (Tokens::Token t = truth.first(); t.exists(); t = truth.after(t))
    ++count, costs[count] = count;
  for (Tokens::Token h = hypothesis.first(); h.exists(); h = hypothesis.after(h)) {
    std::int64_t both_shorter = costs[0]++, i = 0;
    for (Tokens::Token t = truth.first(); t.exists(); t = truth.after(t)) {
      std::int64_t inserted = costs[++i] + 1, removed = costs[i - 1] + 1;
      std::int64_t best = both_shorter + (same_token(truth, t, hypothesis, h) ? 0 : 1);
      if (inserted < best) best = inserted;
      if (removed < best) best = removed;
      both_shorter = costs[i];
      costs[i] = best;
    }
  }
  return {costs[count], count};
}

}  // namespace belfry
