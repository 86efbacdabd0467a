#pragma once
// Values over steps, however many there are, in bounded memory. Internal to hooks/.

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::hooks {

/// Values of one step, or of several that follow each other.
struct CurvePoint {
  std::int64_t first = 0, last = 0;    ///< steps
  std::int64_t count = 0;              ///< finite values
  std::int64_t not_finite = 0;         ///< others
  double mean = 0, low = 0, high = 0;  ///< of the finite ones; 0 without any

  bool operator==(const CurvePoint&) const = default;
};

/// At first a point for each step. Whenever there would be more than `most`, each covers twice as
/// many steps, from a multiple of their number on: so no value is lost from low, high and mean, and
/// how a curve is thinned depends on its steps alone.
class Curve {
 public:
  explicit Curve(std::size_t most = 500) : most_(most) {}

  /// In any order of steps, which are at least 0. Several values of a step are one point.
  void add(std::int64_t step, double value);

  const std::vector<CurvePoint>& points() const { return points_; }  ///< by step
  std::int64_t latest_step() const { return latest_step_; }          ///< that was added; -1: none
  double latest() const { return latest_; }

  /// The curve as text without line breaks, numbers in seven digits, thinned to `most` points, at
  /// least 2; read() replaces it by one that such a text holds. Error: it is none.
  std::string text(std::size_t most = std::numeric_limits<std::size_t>::max()) const;
  void read(std::string_view text);

 private:
  std::int64_t number(std::int64_t step) const { return step / steps_a_point_; }
  void thin(std::size_t most);

  std::size_t most_;
  std::int64_t steps_a_point_ = 1;
  std::vector<CurvePoint> points_;
  std::int64_t latest_step_ = -1;
  double latest_ = 0;
};

}  // namespace belfry::hooks
