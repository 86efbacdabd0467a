#include "belfry/models/sequences/gpt.h"

#include <cmath>

#include "belfry/framework/base/option_checks.h"
#include "belfry/framework/layers/layer_support.h"
#include "belfry/framework/ops/check_range.h"

namespace belfry::models {
namespace {

/// Options with numbers in place of defaults.
GptOptions complete(GptOptions o) {
  if (o.kv_heads == 0) o.kv_heads = o.heads;
  if (o.hidden == 0) o.hidden = 4 * o.width;
  if (o.epsilon == 0) o.epsilon = o.block == GptBlock::llama ? 1e-6 : 1e-5;
  return o;
}

class Gpt {
 public:
  Gpt(const Scope& s, const GptOptions& o, const Batch& batch, Mode mode)
      : o_(complete(o)),
        batch_(batch),
        training_(mode == Mode::train),
        goes_on_(mode == Mode::predict && batch.contains("past_keys0")),
        table_((s / "embed")
                   .variable("table", {.shape = layers::shape_at(s, {o.vocabulary, o.width}),
                                       .initializer = normal(0, 0.02)})) {
    const Tensor& tokens = batch[o.token];
    require(!is_floating(tokens.dtype()) && tokens.rank() == 2 && tokens.size(1) > 0,
            "gpt: the feature `", o.token, "` must be whole numbers [n, t], t not 0, got ",
            tokens.type());
    keys_ = goes_on_ ? places_in_cache() : tokens.size(1);
    require(llama() || keys_ <= o.context, "gpt: ", goes_on_ ? "a cache" : "a row", " of ", keys_,
            " tokens is longer than the option context, ", o.context);
    if (!goes_on_ && !batch.contains(o.position)) return;
    const Tensor& given = batch[o.position];
    require(!is_floating(given.dtype()) && given.shape() == tokens.shape(), "gpt: the feature `",
            o.position, "` must be whole numbers ", tokens.shape(), ", got ", given.type());
    positions_ = check_range(cast(given, DType::i64), 0, static_cast<double>(keys_ - 1),
                             {.what = concat("gpt: the feature `", o.position, "`"),
                              .remedy = goes_on_ ? "there are so many places in the cache"
                                                 : "it counts from 0 in each document of a row"});
    if (goes_on_) {
      find_places_written();
    } else {
      find_documents();
    }
  }

  /// [n, t, width]
  Tensor places(const Scope& s) {
    const Tensor& tokens = batch_[o_.token];
    Tensor x = embedding_lookup(table_, tokens);
    if (!llama()) x = x + position_embeddings(s, tokens.size(1));
    x = drop(s / "embed", x);
    for (int i = 0; i < o_.depth; ++i) x = block(s / concat("block", i), x, i);
    return norm(s / "norm", x);
  }

  /// x [m, width] -> [m, vocabulary]
  Tensor logits(const Scope& s, const Tensor& x) const {
    if (!o_.tied) return dense(s / "head", x, {.units = o_.vocabulary, .use_bias = false});
    return matmul(x, table_, {.transpose_b = true});
  }

  /// Keys and values with those of this batch, by name, for predictions that go on.
  const NamedTensors& cache() const { return cache_; }

 private:
  bool llama() const { return o_.block == GptBlock::llama; }

  /// 0, 1, ... count - 1, i64.
  Tensor numbers(const Shape& shape) const {
    Array out(shape, DType::i64);
    std::int64_t i = 0;
    for (std::int64_t& x : out.span<std::int64_t>()) x = i++;
    return constant(positions_.graph(), out);
  }

  /// A row's tokens see what the cache holds up to their own place.
  void find_places_written() {
    std::int64_t n = positions_.size(0), t = positions_.size(1);
    Tensor first = broadcast_to(numbers({1, 1}), positions_.shape());
    key_ranges_ = stack({first, positions_ + 1}, -1);
    Tensor here = cast(equal(numbers({1, keys_, 1}), reshape(positions_, {n, 1, t})), DType::f32);
    rows_by_place_ = here;
    written_ = greater(reshape(sum(here, {.axes = {-1}}), {n, keys_, 1, 1}),
                       constant(here.graph(), 0, DType::f32));
  }

  /// They see their own document up to their own place.
  void find_documents() {
    Tensor at = numbers({1, keys_});
    Tensor begin =
        check_range(at - positions_, 0, static_cast<double>(keys_ - 1),
                    {.what = concat("gpt: the first place of the document that the feature `",
                                    o_.position, "` tells of"),
                     .remedy = "it counts from 0 in each document of a row"});
    key_ranges_ = stack({begin, broadcast_to(at + 1, positions_.shape())}, -1);
  }

  std::int64_t places_in_cache() const {
    const Tensor& past = batch_["past_keys0"];
    require(past.rank() == 4 && past.size(1) > 0, "gpt: the feature `past_keys0` must be f32[",
            batch_[o_.token].size(0), ", places, ", o_.kv_heads, ", ", o_.width / o_.heads,
            "], got ", past.type());
    return past.size(1);
  }
  const Tensor& cached(const std::string& name) const {
    const Tensor& past = batch_[name];
    TensorType expected{{batch_[o_.token].size(0), keys_, o_.kv_heads, o_.width / o_.heads},
                        DType::f32};
    require(past.type() == expected, "gpt: the feature `", name, "` must be ", expected, ", got ",
            past.type());
    return past;
  }

  /// The cached keys or values, [n, places, kv_heads, d], with those of this batch, [n, t,
  /// kv_heads, d], at its positions.
  Tensor with_past(const std::string& name, int block, const Tensor& x) {
    const Tensor& past = cached(concat("past_", name, block));
    Tensor now = cast(x, past.dtype());
    std::int64_t n = x.size(0), t = x.size(1);
    // A row with a single 1 copies: exactly, but where a GPU rounds factors (RunConfig::tf32).
    if (t > 1)
      now = reshape(matmul(rows_by_place_, reshape(now, {n, t, x.size(2) * x.size(3)})),
                    past.shape());
    Tensor out = where(written_, now, past);
    cache_.emplace_back(concat(name, block), out);
    return out;
  }

  /// [t or n, t, width]
  Tensor position_embeddings(const Scope& s, std::int64_t length) const {
    Tensor all = s.variable("positions", {.shape = layers::shape_at(s, {o_.context, o_.width}),
                                          .initializer = normal(0, 0.01)});
    if (positions_.defined()) return embedding_lookup(all, positions_);
    return slice(all, {.begin = {0, 0}, .size = {length, o_.width}});
  }

  Tensor norm(const Scope& s, const Tensor& x) const {
    return llama() ? rms_norm(s, x, {.epsilon = o_.epsilon})
                   : layer_norm(s, x, {.epsilon = o_.epsilon});
  }

  /// Dense layers that add to x begin smaller, by the root of how many there are (Radford et al.
  /// 2019, section 2.3).
  DenseOptions layer(std::int64_t units, bool adds) const {
    double deviation = adds ? 0.02 / std::sqrt(2.0 * static_cast<double>(o_.depth)) : 0.02;
    return {.units = units, .use_bias = !llama(), .kernel_initializer = normal(0, deviation)};
  }

  Tensor block(const Scope& s, Tensor x, int number) {
    x = x + drop(s / "attention", attend(s / "attention", norm(s / "norm1", x), number));
    Tensor y = norm(s / "norm2", x);
    if (llama()) {
      y = swiglu(s / "mlp", y, {.hidden = o_.hidden, .kernel_initializer = normal(0, 0.02)});
    } else {
      y = gelu(dense(s / "mlp" / "up", y, layer(o_.hidden, false)), {.approximate = true});
      y = dense(s / "mlp" / "down", y, layer(o_.width, true));
    }
    return x + drop(s / "mlp", y);
  }

  Tensor attend(const Scope& s, const Tensor& x, int number) {
    std::int64_t n = x.size(0), t = x.size(1), d = o_.width / o_.heads;
    auto heads = [&](const Tensor& part, std::int64_t count) {
      return reshape(part, {n, t, count, d});
    };
    auto turned = [&](const Tensor& part, std::int64_t count) {
      RotaryOptions rotation{.base = o_.rotary_base};
      if (positions_.defined()) rotation.positions = positions_, rotation.longest = keys_;
      return rotary(heads(part, count), rotation);
    };
    Tensor q, k, v;
    if (llama()) {
      q = turned(dense(s / "query", x, layer(o_.width, false)), o_.heads);
      k = turned(dense(s / "key", x, layer(o_.kv_heads * d, false)), o_.kv_heads);
      v = heads(dense(s / "value", x, layer(o_.kv_heads * d, false)), o_.kv_heads);
    } else {
      std::vector<Tensor> parts = split(dense(s / "qkv", x, layer(3 * o_.width, false)), 3, -1);
      q = heads(parts[0], o_.heads), k = heads(parts[1], o_.heads), v = heads(parts[2], o_.heads);
    }
    if (goes_on_) {
      DType dtype = q.dtype();
      k = cast(with_past("keys", number, k), dtype),
      v = cast(with_past("values", number, v), dtype);
    }
    Tensor y = scaled_dot_product_attention(s, q, k, v,
                                            {.causal = !goes_on_,
                                             .key_ranges = key_ranges_,
                                             .dropout = o_.dropout,
                                             .training = training_});
    return dense(s / "output", reshape(y, {n, t, o_.width}), layer(o_.width, true));
  }

  Tensor drop(const Scope& s, const Tensor& x) const {
    return dropout(s, x, {.rate = o_.dropout, .training = training_});
  }

  GptOptions o_;
  const Batch& batch_;
  bool training_, goes_on_;
  std::int64_t keys_ = 0;  // places of a row, or of the cache
  Tensor positions_, key_ranges_;
  Tensor rows_by_place_, written_;  // [n, places, t]: 1 where a token goes; [n, places, 1, 1]
  Tensor table_;
  NamedTensors cache_;
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
  require(o.epsilon >= 0 && o.rotary_base > 0, "gpt: epsilon is ", o.epsilon, " and rotary_base ",
          o.rotary_base, "; expected at least 0, and above 0");
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

/// x [n, t, width] at the last token of each row that counts: [n, width].
Tensor last_places(const Tensor& x, const Batch& batch, const GptOptions& o) {
  std::int64_t n = x.size(0), t = x.size(1);
  if (!batch.contains(o.length))
    return reshape(slice(x, {.begin = {0, t - 1, 0}, .size = {n, 1, o.width}}), {n, o.width});
  const Tensor& length = batch[o.length];
  require(!is_floating(length.dtype()) && length.shape() == Shape({n}), "gpt: the feature `",
          o.length, "` must be whole numbers [", n, "], got ", length.type());
  Tensor checked = check_range(length, 1, static_cast<double>(t),
                               {.what = concat("gpt: the feature `", o.length, "`"),
                                .remedy = "it counts the tokens of a row"});
  Array lengths({1, 1, t}, DType::i64);
  std::int64_t i = 0;
  for (std::int64_t& to : lengths.span<std::int64_t>()) to = ++i;
  // A row with a single 1 copies.
  Tensor last = equal(constant(x.graph(), lengths), reshape(cast(checked, DType::i64), {n, 1, 1}));
  return reshape(matmul(cast(last, x.dtype()), x), {n, o.width});
}

}  // namespace

ModelFn gpt(GptOptions o) {
  check(o);
  return [o = std::move(o)](Scope s, const Batch& batch, Mode mode) -> EstimatorSpec {
    Gpt model(s, o, batch, mode);
    Tensor x = model.places(s);
    std::int64_t n = x.size(0), t = x.size(1);
    if (mode == Mode::predict) {
      Tensor logits = cast(model.logits(s, last_places(x, batch, o)), DType::f32);
      NamedTensors predictions{{"logits", logits}, {"next", argmax(logits, -1)}};
      predictions.insert(predictions.end(), model.cache().begin(), model.cache().end());
      return {.predictions = predictions};
    }
    const Tensor &tokens = batch[o.token], &labels = batch[o.label];
    require(labels.shape() == tokens.shape() && !is_floating(labels.dtype()), "gpt: the feature `",
            o.label, "` must be whole numbers ", tokens.shape(), ", got ", labels.type());
    Tensor logits = model.logits(s, reshape(x, {n * t, o.width}));
    return spec_of(logits, reshape(labels, {n * t}), mode, o);
  };
}

Signature gpt_step_inputs(const GptOptions& options, std::int64_t tokens, std::int64_t places) {
  check(options);
  require_at_least(1, "gpt_step_inputs", "tokens", tokens);
  require_at_least(1, "gpt_step_inputs", "places", places);
  GptOptions o = complete(options);
  TensorType past{{places, o.kv_heads, o.width / o.heads}, DType::f32};
  Signature inputs{{o.token, {{tokens}, DType::i32}},
                   {o.position, {{tokens}, DType::i32}},
                   {o.length, {{}, DType::i32}}};
  for (int i = 0; i < o.depth; ++i) {
    inputs.emplace_back(concat("past_keys", i), past);
    inputs.emplace_back(concat("past_values", i), past);
  }
  return inputs;
}

}  // namespace belfry::models
