#include "belfry/models/unet.h"

#include <vector>

namespace belfry::models {
namespace {

// Where images and volumes differ.
struct Image {
  static constexpr int axes = 2;
  static Tensor conv(const Scope& s, Tensor x, std::int64_t filters, bool bias) {
    return conv2d(
        s, x,
        {.filters = filters, .kernel = 3, .use_bias = bias, .kernel_initializer = he_normal()});
  }
  static Tensor point(const Scope& s, Tensor x) {
    return conv2d(s, x, {.filters = 1, .kernel = 1});
  }
  static Tensor up(const Scope& s, Tensor x, std::int64_t filters) {
    return conv2d_transpose(
        s, x, {.filters = filters, .kernel = 2, .stride = 2, .kernel_initializer = he_normal()});
  }
  static Tensor down(Tensor x) { return max_pool(x); }
};

struct Volume {
  static constexpr int axes = 3;
  static Tensor conv(const Scope& s, Tensor x, std::int64_t filters, bool bias) {
    return conv3d(
        s, x,
        {.filters = filters, .kernel = 3, .use_bias = bias, .kernel_initializer = he_normal()});
  }
  static Tensor point(const Scope& s, Tensor x) {
    return conv3d(s, x, {.filters = 1, .kernel = 1});
  }
  static Tensor up(const Scope& s, Tensor x, std::int64_t filters) {
    return conv3d_transpose(
        s, x, {.filters = filters, .kernel = 2, .stride = 2, .kernel_initializer = he_normal()});
  }
  static Tensor down(Tensor x) { return max_pool3d(x); }
};

template <class Kind>
class Unet {
 public:
  Unet(const UnetOptions& options, Mode mode) : o_(options), mode_(mode) {}

  Tensor logits(const Scope& s, Tensor x) const {
    check(x);
    std::vector<Tensor> levels;
    std::int64_t filters = o_.filters;
    for (int level = 1; level <= o_.depth; ++level, filters *= 2) {
      x = twice(s / concat("down", level), x, filters);
      levels.push_back(x);
      x = Kind::down(x);
    }
    x = twice(s / "bottom", x, filters);
    for (int level = o_.depth; level >= 1; --level) {
      filters /= 2;
      Scope up = s / concat("up", level);
      x = Kind::up(up / "grow", x, filters);
      x = concat({levels[static_cast<std::size_t>(level - 1)], x}, -1);
      x = twice(up, x, filters);
    }
    return Kind::point(s / "head", x);
  }

 private:
  void check(const Tensor& x) const {
    require(x.rank() == Kind::axes + 2, "unet: expected [n, ", Kind::axes, " axes, c], got ",
            x.type());
    std::int64_t unit = std::int64_t{1} << o_.depth;
    for (int axis = 1; axis <= Kind::axes; ++axis)
      require(x.size(axis) % unit == 0, "unet: axis ", axis, " of ", x.type(),
              " is no multiple of ", unit, ", as ", o_.depth, " halvings need; pad or crop it");
  }

  Tensor twice(const Scope& s, Tensor x, std::int64_t filters) const {
    for (int i = 1; i <= 2; ++i) {
      x = Kind::conv(s / concat("conv", i), x, filters, !o_.batch_norm);
      if (o_.batch_norm)
        x = batch_norm(s / concat("norm", i), x,
                       {.training = mode_ == Mode::train,
                        .momentum = o_.batch_norm_momentum,
                        .epsilon = 1e-5});
      x = relu(x);
    }
    return x;
  }

  const UnetOptions& o_;
  Mode mode_;
};

EstimatorSpec spec_of(const UnetOptions& o, Tensor logits, const Batch& batch, Mode mode) {
  Tensor probability = sigmoid(logits);
  if (mode == Mode::predict)
    return {.predictions = {{"probability", probability},
                            {"mask", greater(probability, constant(logits.graph(), o.threshold,
                                                                   logits.dtype()))}}};
  Tensor mask = batch["mask"];
  require(mask.shape() == logits.shape(), "unet: the mask is ", mask.type(),
          " but its image needs ", logits.shape());
  Tensor loss =
      mean(weighted_sigmoid_cross_entropy(logits, mask, {.positive_weight = o.positive_weight}));
  if (o.dice_weight != 0) loss = loss + mean(dice_loss(logits, mask)) * o.dice_weight;
  return {.loss = loss,
          .train = o.optimizer,
          .metrics = {{"dice", dice(greater(mask, constant(mask.graph(), 0.5, mask.dtype())),
                                    probability, {.threshold = o.threshold})}}};
}

template <class Kind>
ModelFn make(UnetOptions o) {
  require(o.depth >= 1 && o.depth <= 16 && o.filters >= 1, "unet: a depth of ", o.depth, " with ",
          o.filters, " filters; expected 1 to 16, and at least 1");
  return [o = std::move(o)](Scope s, const Batch& batch, Mode mode) {
    return spec_of(o, Unet<Kind>(o, mode).logits(s, batch["image"]), batch, mode);
  };
}

}  // namespace

ModelFn unet(UnetOptions options) { return make<Image>(std::move(options)); }
ModelFn unet3d(UnetOptions options) { return make<Volume>(std::move(options)); }

}  // namespace belfry::models
