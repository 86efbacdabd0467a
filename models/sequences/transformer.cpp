#include "belfry/models/sequences/transformer.h"

#include <cmath>

#include "belfry/framework/base/option_checks.h"
#include "belfry/framework/layers/layer_support.h"
#include "belfry/models/classifier.h"
#include "belfry/models/feature_checks.h"

namespace belfry::models {
namespace {

/// sin(p / 10000^(2 i / width)) at place p, channel 2 i, and the cosine in the channel behind it.
Array sinusoids(std::int64_t length, std::int64_t width, DType dtype) {
  Array out({length, width}, DType::f64);
  auto values = out.span<double>();
  for (std::int64_t p = 0; p < length; ++p)
    for (std::int64_t c = 0; c < width; ++c) {
      double wave = std::pow(10'000.0, static_cast<double>(c - c % 2) / width);
      double angle = p / wave;
      values[p * width + c] = c % 2 == 0 ? std::sin(angle) : std::cos(angle);
    }
  return out.cast(dtype);
}

class Encoder {
 public:
  Encoder(const TransformerOptions& options, Mode mode) : o_(options), mode_(mode) {}

  Tensor logits(const Scope& s, const Batch& batch) const {
    Tensor input = batch[o_.feature];
    bool tokens = !is_floating(input.dtype());
    require(input.rank() == (tokens ? 2 : 3) && input.size(1) > 0, "transformer: the feature `",
            o_.feature, "` must be whole numbers [n, t] or floating [n, t, c], t not 0, got ",
            input.type());
    Tensor x = tokens ? embed(s, input) : dense(s / "embed", input, {.units = o_.width});
    x = drop(s / "embed", x + positions(s, x));
    Tensor mask;
    if (!o_.lengths.empty())
      mask = padding_mask(
          checked_lengths(s, batch,
                          {.model = "transformer", .lengths = o_.lengths, .of = o_.feature}),
          x.size(1));
    return dense(s / "head", pool(transformer_encoder(s, x, mask, mode_, o_), mask),
                 {.units = o_.classes});
  }

  Tensor block(const Scope& s, Tensor x, const Tensor& mask) const {
    Tensor y = layer_norm(s / "norm1", x);
    y = multi_head_attention(
        s / "attention", y, y, y,
        {.heads = o_.heads, .mask = mask, .dropout = o_.dropout, .training = mode_ == Mode::train});
    x = x + drop(s / "attention", y);
    y = gelu(dense(s / "hidden", layer_norm(s / "norm2", x), {.units = o_.hidden}));
    y = dense(s / "output", drop(s / "hidden", y), {.units = o_.width});
    return x + drop(s / "output", y);
  }

 private:
  Tensor embed(const Scope& s, const Tensor& tokens) const {
    require(o_.vocabulary >= 1, "transformer: the feature `", o_.feature,
            "` holds tokens; the option vocabulary must say how many there are");
    double scale = std::sqrt(o_.width);
    Tensor x =
        embedding(s / "embed", tokens,
                  {.rows = o_.vocabulary, .width = o_.width, .initializer = normal(0, 1 / scale)});
    return o_.learned_positions ? x : x * scale;
  }

  /// [t, width]
  Tensor positions(const Scope& s, const Tensor& x) const {
    std::int64_t length = x.size(1);
    if (!o_.learned_positions) return constant(s, sinusoids(length, o_.width, x.dtype()));
    require(length <= o_.longest, "transformer: a batch of ", length,
            " places is longer than the option longest, ", o_.longest);
    double deviation = 1 / std::sqrt(o_.width);
    Tensor all = s.variable("positions", {.shape = layers::shape_at(s, {o_.longest, o_.width}),
                                          .dtype = x.dtype() == DType::f64 ? x.dtype() : DType::f32,
                                          .initializer = normal(0, deviation)});
    return cast(slice(all, {.begin = {0, 0}, .size = {length, o_.width}}), x.dtype());
  }

  Tensor pool(const Tensor& x, const Tensor& mask) const {
    if (!o_.pool_mean)
      return reshape(slice(x, {.begin = {0, 0, 0}, .size = {-1, 1, -1}}), {x.size(0), o_.width});
    if (!mask.defined()) return mean(x, {.axes = {1}});
    Tensor counts = cast(reshape(mask, {x.size(0), x.size(1), 1}), x.dtype());
    Tensor count = sum(counts, {.axes = {1}});  // [n, 1]
    return sum(x * counts, {.axes = {1}}) / maximum(count, constant(x.graph(), 1, x.dtype()));
  }

  Tensor drop(const Scope& s, const Tensor& x) const {
    return dropout(s, x, {.rate = o_.dropout, .training = mode_ == Mode::train});
  }

  const TransformerOptions& o_;
  Mode mode_;
};

}  // namespace

Tensor transformer_encoder(const Scope& s, Tensor x, Tensor mask, Mode mode,
                           const TransformerOptions& o) {
  Encoder encoder(o, mode);
  for (std::int64_t i = 1; i <= o.depth; ++i) x = encoder.block(s / concat("block", i), x, mask);
  return layer_norm(s / "norm", x);
}

ModelFn transformer(TransformerOptions o) {
  require(o.classes >= 2 && o.depth >= 0 && o.hidden >= 1, "transformer: ", o.classes,
          " classes, a depth of ", o.depth, " and ", o.hidden,
          " hidden units; expected at least 2, 0 and 1");
  require(o.width >= 1 && o.heads >= 1 && o.width % o.heads == 0, "transformer: ", o.heads,
          " heads do not divide a width of ", o.width);
  require_at_least(0, "transformer", "vocabulary", o.vocabulary);
  require_at_least(1, "transformer", "longest", o.longest);
  require_rate("transformer", "dropout", o.dropout);
  return [o = std::move(o)](Scope s, const Batch& batch, Mode mode) {
    return classifier_spec(Encoder(o, mode).logits(s, batch), batch, mode, o.optimizer);
  };
}

}  // namespace belfry::models
