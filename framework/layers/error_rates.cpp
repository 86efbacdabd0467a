#include "belfry/framework/layers/error_rates.h"

#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/reduce.h"
#include "belfry/framework/ops/shape_ops.h"

namespace belfry {
namespace {

/// The state is [distances, lengths].
Metric error_rate(const Sequences& truth, const Sequences& hypothesis,
                  const EditDistanceOptions& options) {
  EditDistance rows = edit_distance(truth, hypothesis, options);
  return {
      .state = stack({sum(cast(rows.distance, DType::f64)), sum(cast(rows.length, DType::f64))}),
      .value = [](std::span<const double> s) {
        return Array::scalar(s[0] == 0 ? 0 : s[0] / s[1]);
      }};
}

}  // namespace

Metric character_error_rate(Sequences truth, Sequences hypothesis) {
  return error_rate(truth, hypothesis, {});
}

Metric word_error_rate(Sequences truth, Sequences hypothesis, WordErrorRateOptions o) {
  return error_rate(truth, hypothesis, {.words = true, .separator = o.separator});
}

}  // namespace belfry
