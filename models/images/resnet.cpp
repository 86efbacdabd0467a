#include "belfry/models/images/resnet.h"

#include <array>

#include "belfry/framework/base/option_checks.h"
#include "belfry/models/classifier.h"
#include "belfry/models/images/conv_norm.h"

namespace belfry::models {
namespace {

using Block = Tensor(const Scope&, Tensor x, std::int64_t filters, Size2 stride, const ConvNorm&);

Tensor shortcut(const Scope& s, Tensor x, const Tensor& y, Size2 stride, const ConvNorm& conv) {
  if (y.shape() == x.shape()) return x;
  return conv(s / "shortcut", x, {.filters = y.size(-1), .kernel = 1, .stride = stride});
}

Tensor basic_block(const Scope& s, Tensor x, std::int64_t filters, Size2 stride,
                   const ConvNorm& conv) {
  Tensor y = relu(conv(s / "first", x, {.filters = filters, .stride = stride}));
  y = conv(s / "second", y, {.filters = filters});
  return relu(y + shortcut(s, x, y, stride, conv));
}

Tensor bottleneck_block(const Scope& s, Tensor x, std::int64_t filters, Size2 stride,
                        const ConvNorm& conv) {
  Tensor y = relu(conv(s / "first", x, {.filters = filters, .kernel = 1}));
  y = relu(conv(s / "second", y, {.filters = filters, .stride = stride}));
  y = conv(s / "third", y, {.filters = 4 * filters, .kernel = 1});
  return relu(y + shortcut(s, x, y, stride, conv));
}

Tensor stem(const Scope& s, Tensor image, ResnetStem stem, const ConvNorm& conv) {
  if (stem == ResnetStem::by_size)
    stem = image.size(1) < 64 ? ResnetStem::small : ResnetStem::large;
  if (stem == ResnetStem::small) return relu(conv(s, image, {.filters = 64}));
  Tensor x = relu(conv(s, image, {.filters = 64, .kernel = 7, .stride = 2}));
  return max_pool(
      x, {.window = {3, 3}, .stride = {2, 2}, .padding = Padding::explicit_amounts(1, 1, 1, 1)});
}

ModelFn resnet(std::string_view name, const ResnetOptions& o, std::array<int, 4> blocks,
               Block* block) {
  require_at_least(2, name, "classes", o.classes);
  require_fraction(name, "batch_norm_momentum", o.batch_norm_momentum);
  return [=](Scope s, const Batch& batch, Mode mode) {
    ConvNorm conv(norm_options(o, mode));
    Tensor x = stem(s / "stem", batch["image"], o.stem, conv);
    int number = 0;
    for (std::size_t stage = 0; stage < blocks.size(); ++stage)
      for (int i = 0; i < blocks[stage]; ++i)
        x = block(s / concat("block", ++number), x, std::int64_t{64} << stage,
                  stage > 0 && i == 0 ? 2 : 1, conv);
    Tensor logits = dense(s / "head", global_avg_pool(x), {.units = o.classes});
    return classifier_spec(logits, batch, mode, o.optimizer);
  };
}

}  // namespace

ModelFn resnet18(ResnetOptions o) { return resnet("resnet18", o, {2, 2, 2, 2}, basic_block); }
ModelFn resnet34(ResnetOptions o) { return resnet("resnet34", o, {3, 4, 6, 3}, basic_block); }
ModelFn resnet50(ResnetOptions o) { return resnet("resnet50", o, {3, 4, 6, 3}, bottleneck_block); }

}  // namespace belfry::models
