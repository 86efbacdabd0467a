#include "belfry/models/sequences/gpt.h"

#include <cmath>

#include "belfry/framework/base/option_checks.h"
#include "belfry/framework/layers/layer_support.h"

namespace belfry::models {
namespace {

class Gpt {
 public:
  Gpt(const Scope& s, const GptOptions& o, Mode mode)
      : o_(o),
        training_(mode == Mode::train),
        table_((s / "embed")
                   .variable("table", {.shape = layers::shape_at(s, {o.vocabulary, o.width}),
                                       .initializer = normal(0, 0.02)})) {
    if (o_.kv_heads == 0) o_.kv_heads = o_.heads;
    if (o_.hidden == 0) o_.hidden = 4 * o_.width;
  }

  /// [n, t, width]
  Tensor places(const Scope& s, const Tensor& tokens) const {
    require(!is_floating(tokens.dtype()) && tokens.rank() == 2 && tokens.size(1) > 0,
            "gpt: the feature `", o_.token, "` must be whole numbers [n, t], t not 0, got ",
            tokens.type());
    Tensor x = embedding_lookup(table_, tokens);
    if (!llama()) x = x + positions(s, tokens.size(1));
    x = drop(s / "embed", x);
    for (int i = 0; i < o_.depth; ++i) x = block(s / concat("block", i), x);
    return norm(s / "norm", x);
  }

  /// x [m, width] -> [m, vocabulary]
  Tensor logits(const Scope& s, const Tensor& x) const {
    if (!o_.tied) return dense(s / "head", x, {.units = o_.vocabulary, .use_bias = false});
    return matmul(x, table_, {.transpose_b = true});
  }

 private:
  bool llama() const { return o_.block == GptBlock::llama; }

  /// [t, width]
  Tensor positions(const Scope& s, std::int64_t length) const {
    require(length <= o_.context, "gpt: a row of ", length,
            " tokens is longer than the option "
            "context, ",
            o_.context);
    Tensor all = s.variable("positions", {.shape = layers::shape_at(s, {o_.context, o_.width}),
                                          .initializer = normal(0, 0.01)});
    return slice(all, {.begin = {0, 0}, .size = {length, o_.width}});
  }

  Tensor norm(const Scope& s, const Tensor& x) const {
    return llama() ? rms_norm(s, x) : layer_norm(s, x);
  }

  /// Dense layers that add to x begin smaller, by the root of how many there are (Radford et al.
  /// 2019, section 2.3).
  DenseOptions layer(std::int64_t units, bool adds) const {
    double deviation = adds ? 0.02 / std::sqrt(2.0 * static_cast<double>(o_.depth)) : 0.02;
    return {.units = units, .use_bias = !llama(), .kernel_initializer = normal(0, deviation)};
  }

  Tensor block(const Scope& s, Tensor x) const {
    x = x + drop(s / "attention", attend(s / "attention", norm(s / "norm1", x)));
    Tensor y = norm(s / "norm2", x);
    if (llama()) {
      y = swiglu(s / "mlp", y, {.hidden = o_.hidden, .kernel_initializer = normal(0, 0.02)});
    } else {
      y = gelu(dense(s / "mlp" / "up", y, layer(o_.hidden, false)), {.approximate = true});
      y = dense(s / "mlp" / "down", y, layer(o_.width, true));
    }
    return x + drop(s / "mlp", y);
  }

  Tensor attend(const Scope& s, const Tensor& x) const {
    std::int64_t n = x.size(0), t = x.size(1), d = o_.width / o_.heads;
    auto heads = [&](const Tensor& part, std::int64_t count) {
      return reshape(part, {n, t, count, d});
    };
    Tensor q, k, v;
    if (llama()) {
      q = rotary(heads(dense(s / "query", x, layer(o_.width, false)), o_.heads));
      k = rotary(heads(dense(s / "key", x, layer(o_.kv_heads * d, false)), o_.kv_heads));
      v = heads(dense(s / "value", x, layer(o_.kv_heads * d, false)), o_.kv_heads);
    } else {
      std::vector<Tensor> parts = split(dense(s / "qkv", x, layer(3 * o_.width, false)), 3, -1);
      q = heads(parts[0], o_.heads), k = heads(parts[1], o_.heads), v = heads(parts[2], o_.heads);
    }
    Tensor y = scaled_dot_product_attention(
        s, q, k, v, {.causal = true, .dropout = o_.dropout, .training = training_});
    return dense(s / "output", reshape(y, {n, t, o_.width}), layer(o_.width, true));
  }

  Tensor drop(const Scope& s, const Tensor& x) const {
    return dropout(s, x, {.rate = o_.dropout, .training = training_});
  }

  GptOptions o_;
  bool training_;
  Tensor table_;
};

void check(const GptOptions& o) {
  require_at_least(1, "gpt", "vocabulary", o.vocabulary);
  require_at_least(1, "gpt", "context", o.context);
  require_at_least(1, "gpt", "depth", o.depth);
  require_at_least(0, "gpt", "hidden", o.hidden);
  require_at_least(0, "gpt", "kv_heads", o.kv_heads);
  require(o.heads >= 1 && o.width >= 1 && o.width % o.heads == 0, "gpt: ", o.heads,
          " heads do not divide a width of ", o.width);
  bool fits = o.kv_heads == 0 || (o.block == GptBlock::llama && o.heads % o.kv_heads == 0);
  require(fits, "gpt: kv_heads is ", o.kv_heads, "; it must divide the ", o.heads,
          " heads, and blocks be llama's");
  require(o.block == GptBlock::gpt2 || o.width / o.heads % 2 == 0, "gpt: heads of ",
          o.width / o.heads, " cannot be turned in pairs; width / heads must be even");
  require_rate("gpt", "dropout", o.dropout);
}

/// The loss over the tokens that count.
EstimatorSpec spec_of(const Tensor& logits, const Tensor& labels, Mode mode, const GptOptions& o) {
  DType dtype = labels.dtype();
  Graph& graph = labels.graph();
  Tensor counts = greater_equal(labels, constant(graph, 0, dtype));
  // -1 becomes a label that is one; others out of range are an Error of the loss.
  Tensor target =
      where(equal(labels, constant(graph, -1, dtype)), constant(graph, 0, dtype), labels);
  Tensor losses = sparse_softmax_cross_entropy(logits, target);
  Tensor weights = cast(counts, losses.dtype());
  EstimatorSpec spec{.loss = reduce_loss(losses, Reduction::weighted_mean, weights)};
  if (mode == Mode::train) spec.train = minimize(spec.loss, o.optimizer);
  if (mode != Mode::evaluate) return spec;
  Metric per_token = mean_metric(losses, weights), perplexity = per_token;
  perplexity.value = [mean = per_token.value](std::span<const double> state) {
    return Array::scalar(std::exp(mean(state).item()));
  };
  spec.metrics = {{"loss_per_token", per_token}, {"perplexity", perplexity}};
  return spec;
}

}  // namespace

ModelFn gpt(GptOptions o) {
  check(o);
  return [o = std::move(o)](Scope s, const Batch& batch, Mode mode) -> EstimatorSpec {
    Gpt model(s, o, mode);
    Tensor tokens = batch[o.token], x = model.places(s, tokens);
    std::int64_t n = x.size(0), t = x.size(1);
    if (mode == Mode::predict) {
      Tensor last =
          reshape(slice(x, {.begin = {0, t - 1, 0}, .size = {n, 1, o.width}}), {n, o.width});
      Tensor logits = cast(model.logits(s, last), DType::f32);
      return {.predictions = {{"logits", logits}, {"next", argmax(logits, -1)}}};
    }
    Tensor labels = batch[o.label];
    require(labels.shape() == tokens.shape() && !is_floating(labels.dtype()), "gpt: the feature `",
            o.label, "` must be whole numbers ", tokens.shape(), ", got ", labels.type());
    Tensor logits = model.logits(s, reshape(x, {n * t, o.width}));
    return spec_of(logits, reshape(labels, {n * t}), mode, o);
  };
}

}  // namespace belfry::models
