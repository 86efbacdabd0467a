#include "belfry/models/images/lenet.h"

#include "belfry/framework/base/option_checks.h"
#include "belfry/models/classifier.h"

namespace belfry::models {

ModelFn lenet(LenetOptions o) {
  require_at_least(2, "lenet", "classes", o.classes);
  require_at_least(1, "lenet", "hidden", o.hidden);
  require_rate("lenet", "dropout", o.dropout);
  return [o](Scope s, const Batch& batch, Mode mode) {
    Tensor x = batch["image"];
    x = max_pool(relu(conv2d(s / "conv1", x, {.filters = 32, .kernel = 5})));
    x = max_pool(relu(conv2d(s / "conv2", x, {.filters = 64, .kernel = 5})));
    Tensor features = relu(dense(s / "fc1", flatten(x), {.units = o.hidden}));
    x = dropout(s / "drop", features, {.rate = o.dropout, .training = mode == Mode::train});
    Tensor logits = dense(s / "fc2", x, {.units = o.classes});
    EstimatorSpec spec = classifier_spec(logits, batch, mode, o.optimizer);
    if (mode == Mode::predict) spec.predictions.emplace_back("features", features);
    return spec;
  };
}

}  // namespace belfry::models
