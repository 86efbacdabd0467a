
#include <cmath>
#include <numeric>

#include "belfry/framework/layers/layer_support.h"
#include "belfry/framework/layers/layers.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "belfry/framework/ops/nn.h"
#include "belfry/framework/ops/random/random.h"

namespace belfry {
namespace {

void require_operands(const Scope& s, const Tensor& q, const Tensor& k, const Tensor& v) {
  require_defined("attention", {q, k, v});
  for (const Tensor* x : {&q, &k, &v}) layers::require_features(s, "attention", *x, 2);
  layers::require_at(s, q.size(-1) == k.size(-1) && k.size(-2) == v.size(-2), "attention: queries ",
                     q.type(), ", keys ", k.type(), " and values ", v.type(),
                     " must be [..., tq, d], [..., tk, d] and [..., tk, e]");
}

void require_broadcasts(const Scope& s, std::string_view what, const Tensor& x,
                        const Tensor& scores) {
  bool fits = x.rank() <= scores.rank();
  for (int axis = 1; fits && axis <= x.rank(); ++axis)
    fits = x.size(-axis) == 1 || x.size(-axis) == scores.size(-axis);
  layers::require_at(s, fits, "attention: the ", what, " ", x.type(),
                     " does not broadcast to the scores ", scores.type());
}

/// The score that stands for minus infinity: a row of nothing else must not become 0 / 0.
double lowest_score(DType dtype) { return dtype == DType::f16 ? -65504 : -1e30; }

Tensor add_bias_and_mask(const Scope& s, Tensor scores, const AttentionOptions& o) {
  if (o.bias.defined()) {
    layers::require_at(s, is_floating(o.bias.dtype()), "attention: the bias must be floating, got ",
                       o.bias.type());
    require_broadcasts(s, "bias", o.bias, scores);
    scores = scores + cast(o.bias, scores.dtype());
  }
  if (o.mask.defined()) {
    layers::require_at(s, o.mask.dtype() == DType::boolean,
                       "attention: the mask must be bool, got ", o.mask.type());
    require_broadcasts(s, "mask", o.mask, scores);
    scores = where(o.mask, scores, constant(s, lowest_score(scores.dtype()), scores.dtype()));
  }
  return scores;
}

/// [..., t, c] -> [..., heads, t, c / heads]: the last but one axis changes places with the heads.
Tensor swap_last_but_one(Tensor x) {
  std::vector<int> order(x.rank());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 2], order[order.size() - 3]);
  return transpose(x, order);
}
Tensor split_heads(const Tensor& x, std::int64_t heads) {
  std::vector<std::int64_t> sizes(x.shape().begin(), x.shape().end());
  sizes.back() /= heads;
  sizes.insert(sizes.end() - 1, heads);
  return swap_last_but_one(reshape(x, Shape(sizes)));
}
Tensor join_heads(const Tensor& x) {
  Tensor y = swap_last_but_one(x);
  std::vector<std::int64_t> sizes(y.shape().begin(), y.shape().end() - 1);
  sizes.back() *= x.size(-1);
  return reshape(y, Shape(sizes));
}

}  // namespace

Tensor attention(const Scope& s, Tensor q, Tensor k, Tensor v, AttentionOptions o) {
  require_operands(s, q, k, v);
  Graph::PlacementGuard guard(s.graph(), s.placement());
  q = q * (1 / std::sqrt(q.size(-1)));
  Tensor scores = add_bias_and_mask(s, matmul(q, k, {.transpose_b = true}), o);
  Tensor weights = dropout(s, softmax(scores), {.rate = o.dropout, .training = o.training});
  return matmul(weights, v);
}

Tensor multi_head_attention(const Scope& s, Tensor q, Tensor k, Tensor v,
                            MultiHeadAttentionOptions o) {
  require_defined("multi_head_attention", {q, k, v});
  for (const Tensor* x : {&q, &k, &v}) layers::require_features(s, "multi_head_attention", *x, 3);
  std::int64_t width = q.size(-1);
  layers::require_at(s, o.heads >= 1 && width % o.heads == 0, "multi_head_attention: ", o.heads,
                     " heads do not divide a width of ", width);
  Graph::PlacementGuard guard(s.graph(), s.placement());
  DenseOptions layer{.units = width,
                     .use_bias = o.use_bias,
                     .kernel_initializer = o.kernel_initializer,
                     .bias_initializer = o.bias_initializer};
  // One after the other: the order of arguments, and with it that of nodes, is the compiler's.
  Tensor query = split_heads(dense(s / "query", q, layer), o.heads);
  Tensor key = split_heads(dense(s / "key", k, layer), o.heads);
  Tensor value = split_heads(dense(s / "value", v, layer), o.heads);
  Tensor y =
      attention(s, query, key, value,
                {.mask = o.mask, .bias = o.bias, .dropout = o.dropout, .training = o.training});
  return dense(s / "output", join_heads(y), layer);
}

Tensor padding_mask(Tensor lengths, std::int64_t keys) {
  require_defined("padding_mask", {lengths});
  require(lengths.rank() == 1 && (lengths.dtype() == DType::i32 || lengths.dtype() == DType::i64),
          "padding_mask: lengths must be i32 or i64 [n], got ", lengths.type());
  require(keys >= 0, "padding_mask: the number of keys must be at least 0, got ", keys);
  Array positions(Shape{keys}, DType::i64);
  auto span = positions.span<std::int64_t>();
  std::iota(span.begin(), span.end(), 0);
  return less(constant(lengths.graph(), positions),
              reshape(cast(lengths, DType::i64), Shape{lengths.size(0), 1, 1, 1}));
}

}  // namespace belfry
