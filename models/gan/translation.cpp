#include "belfry/models/gan/translation.h"

#include <algorithm>

namespace belfry::gan {
namespace {

Initializer small() { return normal(0, 0.02); }

constexpr Padding around = Padding::explicit_amounts(1, 1, 1, 1);

Tensor instance_norm(const Scope& s, Tensor x) {
  return group_norm(s, x,
                    {.groups = static_cast<int>(x.size(-1)), .scale = false, .center = false});
}

// Rows (axis 1) or columns (2) in front of the first and behind the last mirror those inside.
Tensor reflected(Tensor x, std::int64_t amount, int axis) {
  std::int64_t size = x.size(axis);
  Array from(Shape{size + 2 * amount}, DType::i64);
  std::int64_t at = -amount;
  for (std::int64_t& i : from.span<std::int64_t>()) {
    std::int64_t inside = std::abs(at++);
    i = std::min(inside, 2 * (size - 1) - inside);
  }
  return gather(x, constant(x.graph(), from), axis);
}

class ResnetTranslator {
 public:
  explicit ResnetTranslator(const ResnetTranslatorOptions& o) : o_(o) {
    require(
        o.channels >= 1 && o.filters >= 1 && o.blocks >= 0,
        "resnet_translator: channels and filters must be at least 1 and blocks at least 0, got ",
        o.channels, ", ", o.filters, " and ", o.blocks);
  }

  Tensor operator()(const Scope& s, Tensor x) const {
    require(
        x.rank() == 4 && x.size(1) % 4 == 0 && x.size(2) % 4 == 0
            && std::min(x.size(1), x.size(2)) >= 8,
        "resnet_translator: expected images [n, h, w, c] of multiples of 4 pixels from 8 on, got ",
        x.type());
    x = norm_relu(s / "first", conv(s / "first", x, o_.filters, 7));
    for (int i : {1, 2}) {
      Scope down = s / concat("down", i);
      x = norm_relu(down, conv2d(down, x,
                                 {.filters = x.size(-1) * 2,
                                  .kernel = 3,
                                  .stride = 2,
                                  .padding = around,
                                  .kernel_initializer = small()}));
    }
    for (int i = 1; i <= o_.blocks; ++i) x = block(s / concat("block", i), x);
    for (int i : {1, 2}) {
      Scope up = s / concat("up", i);
      x = norm_relu(up, conv2d_transpose(up, x,
                                         {.filters = x.size(-1) / 2,
                                          .kernel = 3,
                                          .stride = 2,
                                          .padding = around,
                                          .output_size = {x.size(1) * 2, x.size(2) * 2},
                                          .kernel_initializer = small()}));
    }
    return tanh(conv(s / "last", x, o_.channels, 7));
  }

 private:
  static Tensor norm_relu(const Scope& s, Tensor x) { return relu(instance_norm(s / "norm", x)); }

  // As large as x.
  Tensor conv(const Scope& s, Tensor x, std::int64_t filters, std::int64_t kernel) const {
    if (o_.reflect) x = reflected(reflected(x, kernel / 2, 1), kernel / 2, 2);
    return conv2d(s, x,
                  {.filters = filters,
                   .kernel = kernel,
                   .padding = o_.reflect ? valid_padding : same_padding,
                   .kernel_initializer = small()});
  }

  Tensor block(const Scope& s, Tensor x) const {
    Tensor y = norm_relu(s / "conv1", conv(s / "conv1", x, x.size(-1), 3));
    y = conv(s / "conv2", y, x.size(-1), 3);
    return x + instance_norm(s / "conv2" / "norm", y);
  }

  ResnetTranslatorOptions o_;
};

}  // namespace

Translator resnet_translator(const ResnetTranslatorOptions& o) { return ResnetTranslator(o); }

Discriminator patch_discriminator(const PatchDiscriminatorOptions& o) {
  require(o.filters >= 1 && o.layers >= 1,
          "patch_discriminator: filters and layers must be at least 1, got ", o.filters, " and ",
          o.layers);
  return [o](Scope s, Tensor x, const Batch&, Mode) {
    auto conv = [](const Scope& at, Tensor in, std::int64_t filters, std::int64_t stride) {
      return conv2d(at, in,
                    {.filters = filters,
                     .kernel = 4,
                     .stride = stride,
                     .padding = around,
                     .kernel_initializer = small()});
    };
    std::int64_t filters = o.filters;
    for (int layer = 1; layer <= o.layers + 1; ++layer) {
      Scope down = s / concat("down", layer);
      x = conv(down, x, filters, layer <= o.layers ? 2 : 1);
      x = leaky_relu(layer > 1 ? instance_norm(down / "norm", x) : x);
      filters = std::min(filters * 2, o.filters * 8);
    }
    return conv(s / "logit", x, 1, 1);
  };
}

}  // namespace belfry::gan
