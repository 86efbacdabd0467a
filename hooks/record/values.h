#pragma once
// Values of steps, summaries and evaluations, in the form in which hooks show them. Internal to
// hooks/.

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "belfry/framework/train/estimator.h"
#include "belfry/framework/train/estimator_spec.h"
#include "belfry/framework/train/hook.h"

namespace belfry::hooks {

/// As printf() does it, of at most 127 characters.
template <class... Args>
std::string printed(const char* format, Args... args) {
  std::array<char, 128> text;
  std::snprintf(text.data(), text.size(), format, args...);
  return text.data();
}

/// A mean in which older values fade: each counts `fading` times as much as the one after it. The
/// first is its own mean.
struct FadingMean {
  double sum = 0, weights = 0;

  void add(double value, double fading) {
    sum = fading * sum + value;
    weights = fading * weights + 1;
  }
  double value() const { return sum / weights; }
};

/// "01:15" or "2:01:15"; "?" where it is unknown, or above 100,000 hours.
inline std::string duration_text(double seconds) {
  if (!(seconds >= 0 && seconds < 3.6e8)) return "?";
  auto s = static_cast<long long>(seconds);
  return s < 3600 ? printed("%02lld:%02lld", s / 60, s % 60)
                  : printed("%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
}

/// Since 1970, by the system's clock.
inline double system_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Whether the loss and the model's other values are finite. If not, the step is no success to look
/// at.
bool is_finite(const StepResult& result);

/// The results of one element but for global_step, by name.
std::vector<std::pair<std::string, double>> scalars_of(const EvalResult& results);
/// The same as a line of the log: "step 4: evaluated test: accuracy = 0.5, loss = 1.25".
std::string evaluation_text(std::int64_t step, const std::string& name, const EvalResult& results);

/// An image [h, w, c] as u8. Floating values from 0 to 1 become 0 to 255; those outside are taken
/// for the nearest, NaN for 0.
Array as_pixels(const Array& image);

/// The images of a summary of images: as_pixels() of each.
std::vector<Array> images_of(const SummaryValue& summary);

/// The texts of a summary of texts, each up to its first 0.
std::vector<std::string> texts_of(const SummaryValue& summary);

}  // namespace belfry::hooks
