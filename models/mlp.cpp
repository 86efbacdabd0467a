#include "belfry/models/mlp.h"

#include "belfry/models/classifier.h"

namespace belfry::models {

ModelFn mlp(MlpOptions o) {
  return [o](Scope s, const Batch& batch, Mode mode) {
    Tensor x = flatten(batch[o.feature]);
    for (std::size_t i = 0; i < o.hidden.size(); ++i) {
      Scope layer = s / concat("hidden", i + 1);
      x = relu(dense(layer, x, {.units = o.hidden[i], .kernel_initializer = he_normal()}));
      if (o.dropout > 0)
        x = dropout(layer, x, {.rate = o.dropout, .training = mode == Mode::train});
    }
    Tensor logits = dense(s / "head", x, {.units = o.classes});
    return classifier_spec(logits, batch, mode, o.optimizer);
  };
}

}  // namespace belfry::models
