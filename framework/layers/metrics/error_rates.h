#pragma once
// Streaming metrics of recognised sequences; see metrics.h for what such a metric is.

#include "belfry/framework/layers/metrics/metrics.h"
#include "belfry/framework/ops/sequence/sequences.h"

namespace belfry {

/// edit_distance() over all rows / labels of the truth, over all rows: 0 when all is right, and
/// above 1 where more was recognised than there is. Without any labels in the truth it is 0, or
/// infinity if some were recognised.
Metric character_error_rate(Sequences truth, Sequences hypothesis);

struct WordErrorRateOptions {
  /// Label between words. The default never occurs: each row is one word, and the rate is the share
  /// of rows that are not right in every label.
  std::int64_t separator = -1;
};
/// The same for words, runs of labels between separators.
Metric word_error_rate(Sequences truth, Sequences hypothesis, WordErrorRateOptions options = {});

}  // namespace belfry
