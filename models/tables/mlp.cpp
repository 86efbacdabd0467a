#include "belfry/models/tables/mlp.h"

#include "belfry/framework/base/option_checks.h"

namespace belfry::models {

void check(std::string_view function, const HiddenOptions& o) {
  require_sizes(function, "hidden", o.units);
  require_rate(function, "dropout", o.dropout);
}

Tensor hidden_layers(const Scope& s, Tensor x, Mode mode, const HiddenOptions& o) {
  for (std::size_t i = 0; i < o.units.size(); ++i) {
    Scope layer = s / concat("hidden", i + 1);
    x = relu(dense(layer, x, {.units = o.units[i], .kernel_initializer = he_normal()}));
    x = dropout(layer, x, {.rate = o.dropout, .training = mode == Mode::train});
  }
  return x;
}

ModelFn mlp(MlpOptions o) {
  check("mlp", {o.hidden, o.dropout});
  if (!o.head.build) {
    require_at_least(2, "mlp", "classes", o.classes);
    o.head = multi_class_head({.classes = o.classes});
  }
  return [o](Scope s, const Batch& batch, Mode mode) {
    Tensor x = hidden_layers(s, flatten(batch[o.feature]), mode, {o.hidden, o.dropout});
    return o.head(dense(s / "head", x, {.units = o.head.units}), batch, mode, o.optimizer);
  };
}

}  // namespace belfry::models
