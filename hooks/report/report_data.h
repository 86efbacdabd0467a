#pragma once
// The data of a report, and the page that holds them. Internal to hooks/.

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belfry/framework/base/fields.h"
#include "belfry/framework/tensor/array.h"
#include "belfry/framework/train/estimator_spec.h"
#include "belfry/framework/train/hook.h"
#include "belfry/hooks/record/curve.h"

namespace belfry::hooks {

enum class CurveGroup : std::uint8_t {
  value,       ///< the loss and EstimatorSpec::values
  evaluation,  ///< a metric; the series is the evaluation's name
  scalar,      ///< of EstimatorSpec::summaries
  histogram,   ///< of these; the series is one of `percentiles`
  rate,        ///< learning rates
  speed,       ///< of steps and examples, and the percentage of time spent waiting for input
};
constexpr auto names_of(CurveGroup) {
  return name_list("value", "evaluation", "scalar", "histogram", "rate", "speed");
}

/// Which curve: those of one name are drawn together.
struct CurveKey {
  CurveGroup group = CurveGroup::value;
  std::string name = {};
  std::string series = {};
  auto operator<=>(const CurveKey&) const = default;
};
using Curves = std::map<CurveKey, Curve>;

/// In percent, as the names of series.
inline constexpr const char* percentiles[] = {"5", "25", "50", "75", "95"};

struct ReportImages {
  std::int64_t step = 0;
  std::vector<Array> images = {};  ///< u8 [h, w, 1 | 3 | 4]
};

struct ReportText {
  std::int64_t step = 0;
  std::string text = {};
};

struct ReportData {
  std::string title = {}, model_dir = {}, plan = {};
  std::vector<std::pair<std::string, std::string>> facts = {};
  std::optional<Outcome> outcome = {};  ///< none: it runs
  std::string reason = {};              ///< of the outcome
  double written = 0;                   ///< seconds since 1970
  std::int64_t step = 0;
  std::optional<std::int64_t> last_step = {};
  Curves curves = {};
  std::map<std::string, ReportImages> images = {};
  std::map<std::string, ReportText> texts = {};
  double seconds = 0;   ///< of this training, in all
  StepSums steps = {};  ///< of these
  std::vector<InputStage> stages = {};
};

/// The 5th, 25th, 50th, 75th and 95th percentile: of the n values in order, number p (n - 1) / 100,
/// rounded. All are NaN if there is no value, or one that is not finite.
std::array<double, 5> percentiles_of(const Array& values);

/// At most 16 images u8 [h, w, c] of an array [n, h, w, c], or [h, w, c], with c of 1, 3 or 4: u8,
/// or floating from 0 to 1. Of more than 512 pixels a side, every second row and column, or third,
/// and so on. Error, naming `name`: another type or shape.
std::vector<Array> shown_images(const Array& images, std::string_view name);

/// texts_of() a summary of texts as a line each; at most 10,000 bytes.
std::string shown_text(const SummaryValue& summary);

/// report.html, in which REPORT_DATA stands for the data.
extern const std::string_view report_template;

/// One page of HTML that needs nothing else: report.html with the data as JSON, in which no < is.
/// Curves have their points as [step, value] or, of several values, [first step, last step, finite
/// values, others, mean, lowest, highest]; a latest value that is not finite is a word. Images are
/// PNG files in base64.
std::string report_page(const ReportData& data);

std::string base64(std::span<const std::byte> bytes);

/// "2026-11-22 23:58:01 UTC", for seconds since 1970.
std::string date_text(double seconds);

}  // namespace belfry::hooks
