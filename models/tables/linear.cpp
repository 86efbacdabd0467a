#include "belfry/models/tables/linear.h"

namespace belfry::models {

ModelFn linear(LinearOptions o) {
  with_context("in linear: columns", [&] { validate(o.columns); });
  require_set("linear", o.head);
  return [o](Scope s, const Batch& batch, Mode mode) {
    Tensor logits = linear_columns(s / "linear", batch, o.columns, o.head.units);
    return o.head(logits, batch, mode, o.optimizer);
  };
}

}  // namespace belfry::models
