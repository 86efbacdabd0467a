#include "belfry/models/mlp.h"

namespace belfry::models {

Tensor hidden_layers(const Scope& s, Tensor x, Mode mode, const HiddenOptions& o) {
  for (std::size_t i = 0; i < o.units.size(); ++i) {
    Scope layer = s / concat("hidden", i + 1);
    x = relu(dense(layer, x, {.units = o.units[i], .kernel_initializer = he_normal()}));
    x = dropout(layer, x, {.rate = o.dropout, .training = mode == Mode::train});
  }
  return x;
}

ModelFn mlp(MlpOptions o) {
  if (!o.head.build) o.head = multi_class_head({.classes = o.classes});
  return [o](Scope s, const Batch& batch, Mode mode) {
    Tensor x = hidden_layers(s, flatten(batch[o.feature]), mode, {o.hidden, o.dropout});
    return o.head(dense(s / "head", x, {.units = o.head.units}), batch, mode, o.optimizer);
  };
}

}  // namespace belfry::models
