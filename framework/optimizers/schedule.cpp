#include "belfry/framework/optimizers/schedule.h"

#include <cmath>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

Schedule::Schedule(double value)
    : function_([value](Tensor step) { return constant(step.graph(), value, DType::f64); }) {
  require(std::isfinite(value) && value >= 0, "schedule: the learning rate is ", value,
          "; it must be finite and at least 0");
}

Tensor Schedule::exact(Tensor step) const {
  require((step.type() == TensorType{{}, DType::i64}), "schedule: the step is ", step.type(),
          "; expected i64[]");
  require(function_, "schedule: the function is empty");
  Tensor value = function_(step);
  require(value.defined(), "schedule: the function gave an undefined tensor");
  require(value.rank() == 0 && is_floating(value.dtype()), "schedule: the function gave ",
          value.type(), "; expected a floating scalar");
  return cast(value, DType::f64);
}

Tensor Schedule::operator()(Tensor step) const { return cast(exact(step), DType::f32); }

}  // namespace belfry
