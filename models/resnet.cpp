#include "belfry/models/resnet.h"

#include <array>
#include <string>

#include "belfry/models/classifier.h"

namespace belfry::models {
namespace {

// A convolution with batch norm behind it. The norm's offset does the work of a bias.
class ConvNorm {
 public:
  ConvNorm(Mode mode, double momentum) : training_(mode == Mode::train), momentum_(momentum) {}

  Tensor operator()(const Scope& s, Tensor x, std::int64_t filters, Size2 kernel,
                    Size2 stride = 1) const {
    // Rows and columns are added on both sides, as in the paper, also with a stride of 2.
    std::int64_t border = kernel.rows / 2;
    x = conv2d(s / "conv", x,
               {.filters = filters,
                .kernel = kernel,
                .stride = stride,
                .padding = Padding::explicit_amounts(border, border, border, border),
                .use_bias = false,
                .kernel_initializer = he_normal()});
    return batch_norm(s / "norm", x,
                      {.training = training_, .momentum = momentum_, .epsilon = 1e-5});
  }

 private:
  bool training_;
  double momentum_;
};

Tensor basic_block(const Scope& s, Tensor x, std::int64_t filters, Size2 stride,
                   const ConvNorm& conv_norm) {
  Tensor y = relu(conv_norm(s / "first", x, filters, 3, stride));
  y = conv_norm(s / "second", y, filters, 3);
  if (y.shape() != x.shape()) x = conv_norm(s / "shortcut", x, filters, 1, stride);
  return relu(y + x);
}

Tensor bottleneck_block(const Scope& s, Tensor x, std::int64_t filters, Size2 stride,
                        const ConvNorm& conv_norm) {
  Tensor y = relu(conv_norm(s / "first", x, filters, 1));
  y = relu(conv_norm(s / "second", y, filters, 3, stride));
  y = conv_norm(s / "third", y, 4 * filters, 1);
  if (y.shape() != x.shape()) x = conv_norm(s / "shortcut", x, 4 * filters, 1, stride);
  return relu(y + x);
}

}  // namespace

ModelFn resnet18(ResnetOptions o) {
  return [o](Scope s, const Batch& batch, Mode mode) {
    ConvNorm conv_norm(mode, o.batch_norm_momentum);
    Tensor x = relu(conv_norm(s / "stem", batch["image"], 64, 3));
    for (int stage = 0; stage < 4; ++stage)
      for (int block = 0; block < 2; ++block) {
        std::string name = "block" + std::to_string(2 * stage + block + 1);
        Size2 stride = stage > 0 && block == 0 ? 2 : 1;
        x = basic_block(s / name, x, std::int64_t{64} << stage, stride, conv_norm);
      }
    Tensor logits = dense(s / "head", global_avg_pool(x), {.units = o.classes});
    return classifier_spec(logits, batch, mode, o.optimizer);
  };
}

ModelFn resnet50(ResnetOptions o) {
  return [o](Scope s, const Batch& batch, Mode mode) {
    ConvNorm conv_norm(mode, o.batch_norm_momentum);
    Tensor x = relu(conv_norm(s / "stem", batch["image"], 64, 7, 2));
    x = max_pool(
        x, {.window = {3, 3}, .stride = {2, 2}, .padding = Padding::explicit_amounts(1, 1, 1, 1)});
    constexpr std::array blocks{3, 4, 6, 3};
    int number = 0;
    for (int stage = 0; stage < 4; ++stage)
      for (int block = 0; block < blocks[static_cast<std::size_t>(stage)]; ++block) {
        std::string name = "block" + std::to_string(++number);
        Size2 stride = stage > 0 && block == 0 ? 2 : 1;
        x = bottleneck_block(s / name, x, std::int64_t{64} << stage, stride, conv_norm);
      }
    Tensor logits = dense(s / "head", global_avg_pool(x), {.units = o.classes});
    return classifier_spec(logits, batch, mode, o.optimizer);
  };
}

}  // namespace belfry::models
