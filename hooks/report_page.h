#pragma once
// The data of a report, and the page that it makes of them. Internal to hooks/.

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belfry/framework/tensor/array.h"
#include "belfry/framework/train/hook.h"
#include "belfry/hooks/report_curve.h"

namespace belfry::hooks {

/// In the order in which they are shown.
enum class CurveGroup : std::uint8_t {
  value,       ///< the loss and EstimatorSpec::values
  evaluation,  ///< a metric; the series is the evaluation's name
  scalar,      ///< of EstimatorSpec::summaries
  histogram,   ///< of these; the series is one of `percentiles`
  rate,        ///< learning rates
  speed,       ///< of steps and examples, and the share of time spent waiting for input
};

/// The curve of this name is in percent.
inline constexpr const char* waiting_for_input = "waiting for input";

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

/// Where the time of this training went, in seconds.
struct TimeSpent {
  double all = 0, waited = 0;
  StepTimes steps = {};
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
  TimeSpent time = {};
  std::vector<InputStage> stages = {};
};

/// One page of HTML, which is well-formed XML too, and needs nothing else.
std::string report_page(const ReportData& data);

/// "2026-11-22 23:58:01 UTC", for seconds since 1970.
std::string date_text(double seconds);

}  // namespace belfry::hooks
