#pragma once
// Curves drawn for a page. Internal to hooks/.

#include <string>
#include <vector>

#include "belfry/hooks/report_curve.h"

namespace belfry::hooks {

/// A line, with a smooth one beside it if it is noisy, and with the range from the lowest to the
/// highest value around it where a point of the curve is several steps.
struct Line {
  std::string name = {};
  const Curve* curve = nullptr;
};

/// The area between two curves of the same steps.
struct Band {
  std::string name = {};
  const Curve *low = nullptr, *high = nullptr;
};

struct Chart {
  std::string title = {};
  std::string unit = {};         ///< shown behind values, " ms" with its space
  std::vector<Line> lines = {};  ///< at least one
  std::vector<Band> bands = {};  ///< below the lines, wider ones first
  bool from_zero = false;        ///< the axis begins at 0; else it may be logarithmic
};

/// A figure of HTML with an SVG image that takes any width, a table of some values, and a note
/// where values are not finite: there the line is interrupted, and its step is marked.
std::string chart_html(const Chart& chart);

/// A value for people; what has more digits before the point is in k, M or G, that is thousands,
/// millions or 10^9: "0.6931", "12.5k".
std::string short_value(double value, int digits = 4);

}  // namespace belfry::hooks
