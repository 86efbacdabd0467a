#include <algorithm>
#include <cmath>
#include <limits>

#include "belfry/framework/base/error.h"
#include "belfry/hooks/summary_values.h"

namespace belfry::hooks {
namespace {

using protobuf::WireWriter;

constexpr double highest = std::numeric_limits<double>::max();

// The limits of the buckets in tensorflow/core/lib/histogram/histogram.cc.
std::vector<double> make_limits() {
  std::vector<double> positive;
  for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push_back(limit);
  positive.push_back(highest);
  std::vector<double> out;
  for (auto limit = positive.rbegin(); limit != positive.rend(); ++limit) out.push_back(-*limit);
  out.push_back(0);
  out.insert(out.end(), positive.begin(), positive.end());
  return out;
}

const std::vector<double>& limits() {
  static const std::vector<double> all = make_limits();
  return all;
}

struct Histogram {
  double min = highest, max = -highest, count = 0, sum = 0, sum_of_squares = 0;
  std::vector<double> counts = std::vector<double>(limits().size());

  void add(double value) {
    if (!std::isfinite(value)) return;
    auto bucket = std::upper_bound(limits().begin(), limits().end() - 1, value) - limits().begin();
    counts[static_cast<std::size_t>(bucket)] += 1;
    min = std::min(min, value);
    max = std::max(max, value);
    count += 1;
    sum += value;
    sum_of_squares += value * value;
  }
};

// HistogramProto. As TensorFlow does, empty buckets that follow upon each other are joined; those
// outside are left out, since readers put the lowest and the highest value in place of the outer
// limits.
void put(WireWriter& out, const Histogram& histogram) {
  const auto& counts = histogram.counts;
  auto begin = std::find_if(counts.begin(), counts.end(), [](double count) { return count > 0; });
  auto end = std::find_if(counts.rbegin(), counts.rend(), [](double count) { return count > 0; });
  std::vector<double> kept_limits, kept_counts;
  for (auto count = begin; count < end.base(); ++count) {
    double limit = limits()[static_cast<std::size_t>(count - counts.begin())];
    if (*count == 0 && kept_counts.back() == 0) {
      kept_limits.back() = limit;
    } else {
      kept_limits.push_back(limit);
      kept_counts.push_back(*count);
    }
  }
  if (kept_counts.empty()) {
    kept_limits.push_back(highest);
    kept_counts.push_back(0);
  }
  out.float64(1, histogram.min);
  out.float64(2, histogram.max);
  out.float64(3, histogram.count);
  out.float64(4, histogram.sum);
  out.float64(5, histogram.sum_of_squares);
  out.packed_doubles(6, kept_limits);
  out.packed_doubles(7, kept_counts);
}

}  // namespace

EventValue histogram_summary(std::string tag, Array values) {
  require(!tag.empty() && values.defined(), "histogram_summary: no ",
          tag.empty() ? "tag" : "values for `" + tag + "`");
  return [tag = std::move(tag), values = std::move(values)](WireWriter& out) {
    Histogram histogram;
    for (std::int64_t i = 0; i < values.elements(); ++i) histogram.add(values.at(i));
    if (histogram.count == 0) histogram.min = histogram.max = 0;
    out.text(1, tag);
    out.message(5, [&] { put(out, histogram); });
  };
}

}  // namespace belfry::hooks
