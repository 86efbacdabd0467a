#include "belfry/models/images/vgg.h"

#include <array>

#include "belfry/framework/base/option_checks.h"
#include "belfry/models/classifier.h"
#include "belfry/models/images/conv_norm.h"

namespace belfry::models {
namespace {

std::array<int, 5> convolutions_of(int layers) {
  switch (layers) {
    case 11:
      return {1, 1, 2, 2, 2};
    case 13:
      return {2, 2, 2, 2, 2};
    case 16:
      return {2, 2, 3, 3, 3};
    case 19:
      return {2, 2, 4, 4, 4};
    default:
      fail("vgg: ", layers, " layers; there are 11, 13, 16 and 19");
  }
}

}  // namespace

ModelFn vgg(VggOptions o) {
  require_at_least(2, "vgg", "classes", o.classes);
  require_fraction("vgg", "batch_norm_momentum", o.batch_norm_momentum);
  require_at_least(1, "vgg", "hidden", o.hidden);
  require_rate("vgg", "dropout", o.dropout);
  return [o, convolutions = convolutions_of(o.layers)](Scope s, const Batch& batch, Mode mode) {
    Tensor x = batch["image"];
    for (std::size_t stage = 0; stage < convolutions.size(); ++stage) {
      std::int64_t filters = std::min<std::int64_t>(std::int64_t{64} << stage, 512);
      for (int i = 1; i <= convolutions[stage]; ++i) {
        Scope layer = s / concat("stage", stage + 1) / concat("conv", i);
        x = conv2d(layer, x, {.filters = filters, .kernel = 3, .kernel_initializer = he_normal()});
        if (o.batch_norm) x = batch_norm(layer / "norm", x, norm_options(o, mode));
        x = relu(x);
      }
      x = max_pool(x);
    }
    x = flatten(x);
    for (const char* name : {"hidden1", "hidden2"}) {
      x = relu(dense(s / name, x, {.units = o.hidden, .kernel_initializer = he_normal()}));
      x = dropout(s / name, x, {.rate = o.dropout, .training = mode == Mode::train});
    }
    Tensor logits = dense(s / "head", x, {.units = o.classes});
    return classifier_spec(logits, batch, mode, o.optimizer);
  };
}

}  // namespace belfry::models
