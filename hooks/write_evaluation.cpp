#include "belfry/hooks/write_evaluation.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "belfry/hooks/summary_values.h"

namespace belfry::hooks {
namespace {

// The curve in a value of the metric pr_curve(). Such a value is known by its arithmetic: the last
// two rows are quotients of the others, at every threshold the same number of labels is true and
// the same number false, and at the first threshold there are neither true nor false negatives.
std::optional<PrCurve> as_pr_curve(const Array& value) {
  constexpr double rounding = 1e-6;  // of sums of weights
  if (value.dtype() != DType::f64 || value.shape().rank() != 2 || value.shape()[0] != 6
      || value.shape()[1] < 2)
    return {};
  PrCurve curve;
  std::vector<double>* counts[] = {&curve.true_positives, &curve.false_positives,
                                   &curve.true_negatives, &curve.false_negatives};
  std::int64_t n = value.shape()[1];
  double positives = value.at(0), negatives = value.at(n);
  for (std::int64_t i = 0; i < n; ++i) {
    auto row = [&](std::int64_t number) { return value.at(number * n + i); };
    double tp = row(0), fp = row(1), tn = row(2), fn = row(3);
    auto same = [&](double a, double b) {
      return std::abs(a - b) <= rounding * (positives + negatives);
    };
    if (!same(tp + fn, positives) || !same(fp + tn, negatives)
        || row(4) != tp / std::max(1e-7, tp + fp) || row(5) != tp / std::max(1e-7, tp + fn))
      return {};
    for (std::int64_t k = 0; k < 4; ++k) counts[k]->push_back(row(k));
  }
  if (positives + negatives <= 0) return {};
  return curve;
}

}  // namespace

std::string evaluation_dir(const std::string& model_dir, std::string_view name) {
  return concat(model_dir, "/eval", name.empty() ? "" : "_", name);
}

void check_evaluation_name(std::string_view caller, std::string_view name) {
  require(name.find('/') == std::string_view::npos, caller, ": `", name,
          "` is no name for an evaluation; use one without slashes");
}

void write_evaluation(const std::string& dir, const EvalResult& result, std::int64_t step,
                      const std::string& checkpoint) {
  EventFile file(dir);
  write_evaluation(file, result, step, checkpoint);
}

void write_evaluation(EventFile& file, const EvalResult& result, std::int64_t step,
                      const std::string& checkpoint) {
  std::vector<EventValue> values;
  for (const auto& [name, value] : result) {
    if (value.elements() == 1 && name != "global_step")
      values.push_back(scalar_summary(name, value.item()));
    if (auto curve = as_pr_curve(value)) values.push_back(pr_curve_summary(name, *curve));
  }
  if (!checkpoint.empty()) values.push_back(text_summary("checkpoint_path", checkpoint));
  file.add(step, std::move(values));
}

}  // namespace belfry::hooks
