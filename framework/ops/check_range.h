#pragma once
// Checks labels, lengths and the like while a step runs. Internal to ops, layers,
// backends and models/.

#include <cstdint>
#include <string>

#include "belfry/framework/graph/graph.h"

namespace belfry {

struct CheckRangeOptions {
  std::string what = {};    ///< is checked, as the Error names it: "unet: the feature `mask`"
  std::string remedy = {};  ///< stands at the Error's end: what is allowed, or what to do
  BELFRY_FIELDS(what, remedy)
};

/// x as it is, of any type. An element that is NaN, below `lowest` or above `highest` is an Error
/// when the step runs, which names `what`, the row (place on axis 0) and, on the CPU, the value and
/// the limit. The limits are f64, of one element or of the shape of x.
Tensor check_range(Tensor x, Tensor lowest, Tensor highest, const CheckRangeOptions& options);
/// The same of numbers, which may be infinite.
Tensor check_range(Tensor x, double lowest, double highest, const CheckRangeOptions& options);

/// The op of check_range(), for kernels.
extern const OpDef check_range_op;

/// How the elements of x are counted: those of one row, and the element of a limit beside each.
struct RangeLayout {
  explicit RangeLayout(const Node& node)
      : RangeLayout(node.input(0).shape(), node.input(1).shape(), node.input(2).shape()) {}
  RangeLayout(const Shape& x, const Shape& lowest, const Shape& highest)
      : row(x.rank() > 0 && x[0] > 0 ? x.elements() / x[0] : x.elements()),
        lowest_step(lowest.elements() == 1 ? 0 : 1),
        highest_step(highest.elements() == 1 ? 0 : 1) {}
  std::int64_t row, lowest_step, highest_step;
};

}  // namespace belfry
