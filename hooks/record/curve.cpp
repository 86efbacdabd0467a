#include "belfry/hooks/record/curve.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "belfry/framework/base/error.h"

namespace belfry::hooks {
namespace {

void merge(CurvePoint& into, const CurvePoint& other) {
  into.first = std::min(into.first, other.first);
  into.last = std::max(into.last, other.last);
  into.not_finite += other.not_finite;
  if (other.count == 0) return;
  if (into.count == 0) {
    into.mean = other.mean, into.low = other.low, into.high = other.high;
  } else {
    into.mean += (other.mean - into.mean) * other.count / (into.count + other.count);
    into.low = std::min(into.low, other.low);
    into.high = std::max(into.high, other.high);
  }
  into.count += other.count;
}

// As float has it, so that texts are short; what is beyond its range is its largest.
std::string seven_digits(double value) {
  constexpr double most = std::numeric_limits<float>::max();
  return belfry::text(static_cast<float>(std::clamp(value, -most, most)));
}

// Takes numbers, each followed by a space, from the front of a text.
class Numbers {
 public:
  explicit Numbers(std::string_view text) : text_(text) {}

  bool empty() const { return text_.empty(); }
  // No training has so many steps, and sums of such numbers fit.
  std::int64_t whole(std::int64_t least) { return next(least, std::int64_t{1} << 40); }
  double finite() {
    constexpr double most = std::numeric_limits<double>::max();
    return next(-most, most);
  }

 private:
  template <class T>
  T next(T least, T most) {
    T value{};
    auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    std::string_view rest(end, static_cast<std::size_t>(text_.data() + text_.size() - end));
    require(error == std::errc() && rest.starts_with(' ') && value >= least && value <= most,
            "report: its state is no curve at `", text_.substr(0, 20), "`");
    text_ = rest.substr(1);
    return value;
  }

  std::string_view text_;
};

}  // namespace

void Curve::add(std::int64_t step, double value) {
  CurvePoint point{.first = step, .last = step};
  if (std::isfinite(value)) {
    point.count = 1;
    point.mean = point.low = point.high = value;
  } else {
    point.not_finite = 1;
  }
  latest_step_ = step, latest_ = value;
  auto at = std::ranges::lower_bound(points_, number(step), {},
                                     [&](const CurvePoint& p) { return number(p.first); });
  if (at != points_.end() && number(at->first) == number(step)) return merge(*at, point);
  points_.insert(at, point);
  thin(most_);
}

void Curve::thin(std::size_t most) {
  while (points_.size() > most) {
    steps_a_point_ *= 2;
    std::vector<CurvePoint> fewer;
    for (const CurvePoint& p : points_) {
      if (!fewer.empty() && number(fewer.back().first) == number(p.first)) {
        merge(fewer.back(), p);
      } else {
        fewer.push_back(p);
      }
    }
    points_ = std::move(fewer);
  }
}

std::string Curve::text(std::size_t most) const {
  if (points_.size() > most) {
    Curve thinned = *this;
    thinned.thin(most);
    return thinned.text();
  }
  std::string out = concat(steps_a_point_, " ", latest_step_, " ");
  out += std::isfinite(latest_) ? concat("1 ", seven_digits(latest_), " ") : "0 ";
  for (const CurvePoint& p : points_) {
    out += concat(p.first, " ", p.last - p.first, " ", p.count, " ", p.not_finite, " ");
    if (p.count > 0) out += seven_digits(p.mean) + " ";
    if (p.count > 1) out += seven_digits(p.low) + " " + seven_digits(p.high) + " ";
  }
  return out;
}

void Curve::read(std::string_view text) {
  Numbers numbers(text);
  Curve read(most_);
  read.steps_a_point_ = numbers.whole(1);
  read.latest_step_ = numbers.whole(0);
  bool latest_is_finite = numbers.whole(0) > 0;
  read.latest_ = latest_is_finite ? numbers.finite() : std::numeric_limits<double>::quiet_NaN();
  while (!numbers.empty()) {
    std::int64_t least = read.points_.empty() ? 0 : read.points_.back().last + 1;
    CurvePoint p{.first = numbers.whole(least)};
    p.last = p.first + numbers.whole(0);
    p.count = numbers.whole(0);
    p.not_finite = numbers.whole(0);
    if (p.count > 0) p.low = p.high = p.mean = numbers.finite();
    if (p.count > 1) p.low = numbers.finite(), p.high = numbers.finite();
    read.points_.push_back(p);
  }
  *this = std::move(read);
}

}  // namespace belfry::hooks
