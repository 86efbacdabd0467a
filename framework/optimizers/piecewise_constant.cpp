#include <algorithm>
#include <functional>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/optimizers/schedule.h"
#include "belfry/framework/optimizers/schedule_checks.h"

namespace belfry {

Schedule piecewise_constant(const PiecewiseConstantOptions& o) {
  require(o.values.size() == o.boundaries.size() + 1, "piecewise_constant: ", o.boundaries.size(),
          " boundaries need ", o.boundaries.size() + 1, " values, got ", o.values.size());
  auto falls = std::adjacent_find(o.boundaries.begin(), o.boundaries.end(), std::greater_equal<>());
  require(falls == o.boundaries.end(), "piecewise_constant: boundaries [", join(o.boundaries, ", "),
          "] do not increase");
  for (double value : o.values)
    require(std::isfinite(value) && value >= 0, "piecewise_constant: the value ", value,
            " is not a finite number of at least 0");
  return [o](Tensor step) {
    Graph& graph = step.graph();
    Tensor rate = constant(graph, o.values[0], DType::f64);
    for (std::size_t i = 0; i < o.boundaries.size(); ++i) {
      Tensor passed = greater(step, constant(graph, Array::scalar(o.boundaries[i])));
      rate = where(passed, constant(graph, o.values[i + 1], DType::f64), rate);
    }
    return rate;
  };
}

}  // namespace belfry
