#include "belfry/models/images/mobilenet.h"

#include <algorithm>

#include "belfry/framework/base/option_checks.h"
#include "belfry/models/classifier.h"
#include "belfry/models/images/conv_norm.h"

namespace belfry::models {
namespace {

// To the nearest multiple of 8, but not down by more than a tenth.
std::int64_t in_eights(double filters) {
  auto rounded = std::max<std::int64_t>(8, static_cast<std::int64_t>(filters + 4) / 8 * 8);
  return rounded < 0.9 * filters ? rounded + 8 : rounded;
}

Tensor relu6(Tensor x) { return clip(x, 0, 6); }

Tensor inverted_residual(const Scope& s, Tensor x, std::int64_t filters, std::int64_t widening,
                         Size2 stride, const ConvNorm& conv) {
  Tensor y = x;
  if (widening > 1)
    y = relu6(conv(s / "widen", y, {.filters = x.size(-1) * widening, .kernel = 1}));
  y = relu6(conv.depthwise(s / "depthwise", y, 3, stride));
  y = conv(s / "narrow", y, {.filters = filters, .kernel = 1});
  return y.shape() == x.shape() ? x + y : y;
}

struct Stage {
  std::int64_t widening, filters;
  int blocks, stride;
};
constexpr Stage stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                            {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

}  // namespace

ModelFn mobilenet_v2(MobilenetOptions o) {
  require_at_least(2, "mobilenet_v2", "classes", o.classes);
  require_above_zero("mobilenet_v2", "width", o.width);
  require_fraction("mobilenet_v2", "batch_norm_momentum", o.batch_norm_momentum);
  require_rate("mobilenet_v2", "dropout", o.dropout);
  return [o](Scope s, const Batch& batch, Mode mode) {
    ConvNorm conv(norm_options(o, mode));
    Tensor x =
        relu6(conv(s / "stem", batch["image"], {.filters = in_eights(32 * o.width), .stride = 2}));
    int number = 0;
    for (const Stage& stage : stages)
      for (int i = 0; i < stage.blocks; ++i)
        x = inverted_residual(s / concat("block", ++number), x, in_eights(stage.filters * o.width),
                              stage.widening, i == 0 ? stage.stride : 1, conv);
    std::int64_t last = in_eights(1280 * std::max(1.0, o.width));
    x = global_avg_pool(relu6(conv(s / "last", x, {.filters = last, .kernel = 1})));
    x = dropout(s / "drop", x, {.rate = o.dropout, .training = mode == Mode::train});
    Tensor logits = dense(s / "head", x, {.units = o.classes});
    return classifier_spec(logits, batch, mode, o.optimizer);
  };
}

}  // namespace belfry::models
