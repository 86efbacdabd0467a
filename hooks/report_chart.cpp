#include "belfry/hooks/report_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "belfry/framework/base/text.h"
#include "belfry/hooks/html.h"
#include "belfry/hooks/printed.h"

namespace belfry::hooks {
namespace {

// The image is 1000 x 1000 units, stretched to its place: so lines and texts keep their width, as
// only lines are in it and all of them are drawn by `vector-effect: non-scaling-stroke`.
constexpr double size = 1000;

std::string place(double units) { return printed("%.6g", std::round(units * 100) / 100); }

struct Axis {
  double low = 0, high = 1;
  bool logarithmic = false;

  double share(double value) const {
    if (!logarithmic) return (value - low) / (high - low);
    return std::log(std::max(value, low) / low) / std::log(high / low);
  }
};

void widen(double& low, double& high, const std::vector<CurvePoint>& points) {
  for (const CurvePoint& p : points)
    if (p.count > 0) low = std::min(low, p.low), high = std::max(high, p.high);
}

// 1, 2 or 5 times a power of 10, so that there are three to six of them in `range`.
double nice_step(double range) {
  double power = std::pow(10, std::floor(std::log10(range / 3)));
  for (double factor : {5., 2.})
    if (range / (power * factor) >= 3) return power * factor;
  return power;
}

// The highest to the lowest point of any line. What noise adds to that does not count.
double mean_ratio(const Chart& chart) {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const Line& line : chart.lines)
    for (const CurvePoint& p : line.curve->points())
      if (p.count > 0) low = std::min(low, p.mean), high = std::max(high, p.mean);
  return high / low;
}

Axis value_axis(const Chart& chart) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const Line& line : chart.lines) widen(low, high, line.curve->points());
  for (const Band& band : chart.bands)
    for (const Curve* curve : {band.low, band.high}) widen(low, high, curve->points());
  if (low > high) return {};
  if (!chart.from_zero && low > 0 && mean_ratio(chart) >= 20) return {low, high, true};
  if (chart.from_zero) low = std::min(low, 0.0), high = std::max(high, 0.0);
  double least = std::max(1e-6 * std::max(std::abs(low), std::abs(high)), 1e-300);
  if (high - low < least) {
    double around = std::max(std::abs(high) / 10, 1e-300);
    high += around;
    if (!chart.from_zero) low -= around;
  }
  double step = nice_step(high - low);
  return {std::floor(low / step) * step, std::ceil(high / step) * step};
}

std::vector<double> logarithmic_ticks(const Axis& axis) {
  double decades = std::log10(axis.high / axis.low);
  int stride = static_cast<int>(std::ceil(decades / 5));
  std::vector<double> out;
  int first = static_cast<int>(std::floor(std::log10(axis.low)));
  int last = static_cast<int>(std::ceil(std::log10(axis.high)));
  for (int power = first; power <= last; power += stride)
    for (double factor : {1., 2., 5.}) {
      double tick = factor * std::pow(10, power);
      if (tick >= axis.low && tick <= axis.high && (factor == 1 || decades < 2.5))
        out.push_back(tick);
    }
  return out;
}

std::vector<double> ticks(const Axis& axis, double least_step = 0) {
  if (axis.logarithmic) return logarithmic_ticks(axis);
  double step = std::max(nice_step(axis.high - axis.low), least_step);
  std::vector<double> out;
  for (double n = std::ceil(axis.low / step - 1e-9); n * step <= axis.high + step * 1e-9; ++n)
    out.push_back(n * step);
  return out;
}

// A chart with its axes.
struct Drawing {
  const Chart& chart;
  Axis steps, values;

  std::string x(const CurvePoint& p) const {
    return place(size * steps.share(static_cast<double>(p.first + p.last) / 2));
  }
  std::string y(double value) const { return place(size * (1 - values.share(value))); }
};

// Parts of a curve without interruptions.
template <class DrawPart>
std::string parts(const Curve& curve, DrawPart draw) {
  std::string out;
  std::vector<const CurvePoint*> part;
  for (const CurvePoint& p : curve.points()) {
    if (p.count > 0) {
      part.push_back(&p);
    } else if (!part.empty()) {
      out += draw(part);
      part.clear();
    }
  }
  return part.empty() ? out : out + draw(part);
}

using Part = std::vector<const CurvePoint*>;

std::string line_path(const Drawing& d, const Curve& curve) {
  return parts(curve, [&](const Part& part) {
    std::string out;
    for (const CurvePoint* p : part)
      out += (out.empty() ? "M" : "L") + d.x(*p) + " " + d.y(p->mean);
    return out;
  });
}

// Whether a line of many points goes up and down by more than ten times its range.
bool is_noisy(const std::vector<CurvePoint>& points) {
  if (points.size() < 80) return false;
  double low = std::numeric_limits<double>::infinity(), high = -low, way = 0, before = 0;
  for (const CurvePoint& p : points) {
    if (p.count == 0) continue;
    if (low <= high) way += std::abs(p.mean - before);
    low = std::min(low, p.mean), high = std::max(high, p.mean);
    before = p.mean;
  }
  return way > 10 * (high - low);
}

// Means of a twentieth of the curve, the same number of points on both sides: what noise hides.
std::string smooth_path(const Drawing& d, const Curve& curve) {
  auto most = static_cast<std::ptrdiff_t>(curve.points().size() / 40);
  return parts(curve, [&](const Part& part) {
    std::vector<double> sums{0};
    for (const CurvePoint* p : part) sums.push_back(sums.back() + p->mean);
    std::string out;
    for (std::ptrdiff_t i = 0, n = std::ssize(part); i < n; ++i) {
      std::ptrdiff_t side = std::min({most, i, n - 1 - i});
      double sum =
          sums[static_cast<std::size_t>(i + side + 1)] - sums[static_cast<std::size_t>(i - side)];
      out += (out.empty() ? "M" : "L") + d.x(*part[static_cast<std::size_t>(i)]) + " "
             + d.y(sum / static_cast<double>(2 * side + 1));
    }
    return out;
  });
}

std::string range_path(const Drawing& d, const Curve& curve) {
  return parts(curve, [&](const Part& part) {
    std::string there, back;
    for (const CurvePoint* p : part) {
      there += (there.empty() ? "M" : "L") + d.x(*p) + " " + d.y(p->high);
      back = "L" + d.x(*p) + " " + d.y(p->low) + back;
    }
    return there + back + "Z";
  });
}

std::string band_path(const Drawing& d, const Band& band) {
  std::string there, back;
  for (const CurvePoint& p : band.high->points())
    if (p.count > 0) there += (there.empty() ? "M" : "L") + d.x(p) + " " + d.y(p.high);
  for (const CurvePoint& p : band.low->points())
    if (p.count > 0) back = "L" + d.x(p) + " " + d.y(p.low) + back;
  return there.empty() ? there : there + back + "Z";
}

std::string dots_path(const Drawing& d, const Curve& curve) {
  std::string out;
  for (const CurvePoint& p : curve.points())
    if (p.count > 0) out += "M" + d.x(p) + " " + d.y(p.mean) + "h0";
  return out;
}

std::string path(const std::string& classes, const std::string& d, const std::string& more = {}) {
  return d.empty() ? d : "<path class=\"" + classes + "\"" + more + " d=\"" + d + "\"/>\n";
}

std::string line_html(const Drawing& d, const Line& line, std::size_t number) {
  const auto& points = line.curve->points();
  std::string color = concat(" c", number % 6);
  bool several = std::ranges::any_of(points, [](const CurvePoint& p) { return p.count > 1; });
  bool smooth = is_noisy(points);
  std::string out;
  if (several) out += path("range" + color, range_path(d, *line.curve));
  out += path((smooth ? "noisy line" : "line") + color, line_path(d, *line.curve),
              " data-name=\"" + escape_html(line.name) + "\"");
  if (smooth) out += path("line" + color, smooth_path(d, *line.curve));
  if (points.size() <= 40) out += path("dots" + color, dots_path(d, *line.curve));
  std::string lost;
  for (const CurvePoint& p : points)
    if (p.not_finite > 0) lost += "M" + d.x(p) + " 0V70";
  return out + path("lost", lost);
}

std::string image_text(const Chart& chart) {
  std::vector<std::string> out;
  for (const Line& line : chart.lines) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    widen(low, high, line.curve->points());
    if (low <= high)
      out.push_back(
          concat(line.name, ": ", short_value(low), " to ", short_value(high), chart.unit));
  }
  return concat(chart.title, " over steps; ", join(out, "; "));
}

std::string svg(const Drawing& d) {
  std::string grid;
  for (double tick : ticks(d.values)) grid += "M0 " + d.y(tick) + "H1000";
  std::string out = concat(
      "<svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"",
      escape_html(image_text(d.chart)), "\" data-x=\"", d.steps.low, " ", d.steps.high,
      "\" data-y=\"", d.values.low, " ", d.values.high, d.values.logarithmic ? " log" : "",
      "\" data-unit=\"", escape_html(d.chart.unit), "\">\n", path("grid", grid));
  for (const Band& band : d.chart.bands) out += path("range c0", band_path(d, band));
  for (std::size_t i = 0; i < d.chart.lines.size(); ++i) out += line_html(d, d.chart.lines[i], i);
  return out + "</svg>\n";
}

std::string labels(const char* classes, const char* side, const Axis& axis,
                   const std::vector<double>& ticks) {
  std::string out = concat("<div class=\"", classes, "\">");
  for (double tick : ticks)
    out += concat("<span style=\"", side, ":", place(100 * axis.share(tick)), "%\">",
                  short_value(tick), "</span>");
  return out + "</div>\n";
}

std::string legend(const Chart& chart) {
  if (chart.lines.size() + chart.bands.size() < 2) return {};
  std::string out = "<p class=\"legend\">";
  for (std::size_t i = 0; i < chart.lines.size(); ++i)
    out += concat("<span><i class=\"c", i % 6, "\"></i>", escape_html(chart.lines[i].name),
                  "</span> ");
  for (std::size_t i = 0; i < chart.bands.size(); ++i)
    out += concat("<span><i class=\"c0 range", i == 0 ? "" : " inner", "\"></i>",
                  escape_html(chart.bands[i].name), "</span> ");
  return out + "</p>\n";
}

std::string steps_text(const CurvePoint& p) {
  return p.first == p.last ? text(p.first) : concat(p.first, "–", p.last);
}

std::string not_finite_note(const Chart& chart) {
  std::string out;
  for (const Line& line : chart.lines) {
    std::vector<std::string> steps;
    std::int64_t count = 0;
    for (const CurvePoint& p : line.curve->points()) {
      if (p.not_finite > 0 && steps.size() < 5) steps.push_back(steps_text(p));
      count += p.not_finite;
    }
    if (count > 0)
      out += concat("<p class=\"warning\">", escape_html(line.name), ": ", count,
                    count == 1 ? " value is" : " values are", " NaN or infinite, ",
                    steps.size() < 5 ? "" : "first ", "at step ", join(steps, ", "), "</p>\n");
  }
  return out;
}

// Every so many, and the last.
std::string table(const Chart& chart) {
  std::string out =
      "<details><summary>Values</summary><div class=\"scroll\" tabindex=\"0\"><table><tr>"
      "<th>step</th><th>value</th><th>lowest</th><th>highest</th></tr>\n";
  for (const Line& line : chart.lines) {
    const auto& points = line.curve->points();
    if (chart.lines.size() > 1)
      out += "<tr><th colspan=\"4\">" + escape_html(line.name) + "</th></tr>\n";
    std::size_t stride = std::max<std::size_t>(1, (points.size() + 9) / 10);
    for (std::size_t i = (points.size() + stride - 1) % stride; i < points.size(); i += stride) {
      const CurvePoint& p = points[i];
      out += concat("<tr><td>", steps_text(p), "</td>");
      for (double value : {p.mean, p.low, p.high})
        out += "<td>" + (p.count > 0 ? printed("%.6g", value) : "not finite") + "</td>";
      out += "</tr>\n";
    }
  }
  return out + "</table></div></details>\n";
}

// "training 0.25, evaluation 0.5 at step 10"; with the steps of each where they differ.
std::string latest(const Chart& chart) {
  std::int64_t step = chart.lines[0].curve->latest_step();
  bool same = std::ranges::all_of(
      chart.lines, [&](const Line& line) { return line.curve->latest_step() == step; });
  std::vector<std::string> out;
  for (const Line& line : chart.lines) {
    std::string name = chart.lines.size() > 1 ? line.name + " " : "";
    std::string at = same ? "" : concat(" at step ", line.curve->latest_step());
    out.push_back(name + short_value(line.curve->latest()) + chart.unit + at);
  }
  return join(out, ", ") + (same ? concat(" at step ", step) : "");
}

}  // namespace

std::string short_value(double value, int digits) {
  if (!std::isfinite(value))
    return std::isnan(value) ? "NaN" : value > 0 ? "infinity" : "-infinity";
  double size = std::abs(value);
  if (size < std::pow(10, digits) || size >= 1e13)
    return printed("%.*g", digits, value + 0.0);  // no -0
  for (auto [unit, name] : {std::pair(1e9, "G"), {1e6, "M"}})
    if (size >= unit) return printed("%.*g", digits, value / unit) + name;
  return printed("%.*g", digits, value / 1e3) + "k";
}

std::string chart_html(const Chart& chart) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0;
  for (const Line& line : chart.lines)
    for (const CurvePoint& p : line.curve->points())
      first = std::min(first, p.first), last = std::max(last, p.last);
  Axis steps{static_cast<double>(std::min(first, last)), static_cast<double>(last)};
  if (steps.high <= steps.low) steps.low -= 1, steps.high += 1;
  Drawing d{chart, steps, value_axis(chart)};
  return concat("<figure class=\"chart\">\n<figcaption><b>", escape_html(chart.title),
                "</b> <span class=\"now\">", escape_html(latest(chart)),
                "</span></figcaption>\n<div class=\"plot\">\n",
                labels("values", "bottom", d.values, ticks(d.values)), svg(d),
                labels("steps", "left", d.steps, ticks(d.steps, 1)), "</div>\n", legend(chart),
                not_finite_note(chart), table(chart), "</figure>\n");
}

}  // namespace belfry::hooks
