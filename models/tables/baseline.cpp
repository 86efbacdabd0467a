#include "belfry/models/tables/baseline.h"

namespace belfry::models {

ModelFn baseline(BaselineOptions o) {
  require_set("baseline", o.head);
  return [o](Scope s, const Batch& batch, Mode mode) {
    Tensor bias = (s / "baseline").variable("bias", {.shape = {o.head.units}});
    Tensor logits = broadcast_to(bias, {batch.rows(), o.head.units});
    return o.head(logits, batch, mode, o.optimizer);
  };
}

}  // namespace belfry::models
