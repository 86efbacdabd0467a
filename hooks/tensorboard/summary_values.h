#pragma once
// Values that TensorBoard shows, for EventFile::add(). Tags are series; a / in them makes a group.
// Arrays are shared, not copied: they must not change until the event file has written them.

#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "belfry/framework/tensor/array.h"
#include "belfry/framework/tensor/example.h"
#include "belfry/hooks/tensorboard/event_file.h"

namespace belfry::hooks {

/// Stored as a float, NaN and infinity too.
EventValue scalar_summary(std::string tag, double value);

/// How often values lie in TensorFlow's buckets, whose limits grow by a tenth from 1e-12 to 1e20,
/// on both sides of 0. Any numeric array; NaN and infinity are not counted.
EventValue histogram_summary(std::string tag, Array values);

/// An image u8 [h, w] or [h, w, 1 | 3 | 4], stored as PNG. Error: another type or shape.
EventValue image_summary(std::string tag, Array image);

/// Markdown.
EventValue text_summary(std::string tag, std::string markdown);
/// A table of one column, a row for each text.
EventValue text_summary(std::string tag, std::vector<std::string> rows);

/// The counts of right and wrong answers of a classifier of two classes at each of n thresholds, 0
/// to 1 in equal steps: a score that is not below the threshold is a positive.
struct PrCurve {
  /// Each [n], by threshold from 0 on.
  ///@{
  std::vector<double> true_positives, false_positives, true_negatives, false_negatives;
  ///@}
};
/// The curve of `scores` in [0, 1] for labels 0 and 1 (any numeric arrays of as many elements).
/// Error: other values, fewer than 2 thresholds.
PrCurve count_pr_curve(const Array& labels, const Array& scores, int thresholds = 201);
/// A curve of precision over recall. Error: counts of different lengths, fewer than 2.
EventValue pr_curve_summary(std::string tag, const PrCurve& curve);

/// A number, text or bool: a column in TensorBoard's table of runs.
struct HyperParameter {
  /// From a value, as in HyperParameters{{"rate", 0.1}, {"optimizer", "adam"}}.
  ///@{
  template <class T>
  requires std::is_arithmetic_v<T> HyperParameter(T number) {  // NOLINT
    if constexpr (std::is_same_v<T, bool>) {
      value = number;
    } else {
      value = static_cast<double>(number);
    }
  }
  HyperParameter(std::string text) : value(std::move(text)) {}  // NOLINT
  HyperParameter(const char* text) : value(text) {}             // NOLINT
  ///@}
  /// All numbers as double. Always of one of the first three: see tf::NoKind.
  std::variant<double, bool, std::string, tf::NoKind> value;
};
using HyperParameters = std::map<std::string, HyperParameter>;  ///< by name

/// The parameters of the run. Its columns of results are all scalars of the run and of runs in
/// folders below it. Once a run: later ones are ignored.
EventValue hyper_parameters_summary(HyperParameters parameters, double start_seconds);
/// The run ended well. `end_seconds` since 1970, as above.
EventValue run_finished_summary(double end_seconds);

}  // namespace belfry::hooks
