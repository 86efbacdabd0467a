#include "belfry/framework/ops/attention/dot_product_attention.h"

#include "belfry/framework/ops/attention/attention_weights.h"

namespace belfry {

void check_attention(const ShapeContext& c, int first) {
  const auto& o = c.as<DotProductAttentionNodeOptions>();
  AttentionIndices at(o, first);
  require(c.inputs.size() == at.inputs, c.op, ": expected ", at.inputs, " operands, got ",
          c.inputs.size());
  const TensorType &q = c.inputs[0], &k = c.inputs[1], &v = c.inputs[2];
  require_floating(c.op, "q", q);
  for (const auto& [operand, type] : {std::pair("q", &q), std::pair("k", &k), std::pair("v", &v)}) {
    require_rank(c.op, operand, *type, 4, "[n, t, heads, d]");
    require_same_dtype(c.op, operand, *type, "q", q);
  }
  AttentionSizes s(q.shape, v.shape, o);
  require_type(c.op, "k", k, {{s.n, s.tk, s.kv_heads, s.d}, q.dtype});
  require(v.shape[0] == s.n && s.kv_heads > 0 && s.heads % s.kv_heads == 0, c.op, ": ", s.heads,
          " heads of q ", q, " must be a multiple of the ", s.kv_heads, " of v ", v,
          ", of as many rows");
  if (at.mask > 0) {
    const TensorType& mask = c.inputs[at.mask];
    require_rank(c.op, "mask", mask, 4, "[n, heads, tq, tk]");
    require(mask.dtype == DType::boolean, c.op, ": mask must be bool, got ", mask);
    const std::int64_t sizes[] = {s.n, s.heads, s.tq, s.tk};
    for (int axis = 0; axis < 4; ++axis)
      require(mask.shape[axis] == sizes[axis] || mask.shape[axis] == 1, c.op, ": mask ", mask,
              " must be [", s.n, ", ", s.heads, ", ", s.tq, ", ", s.tk, "] or 1 along an axis");
  }
  if (at.lengths > 0) require_type(c.op, "lengths", c.inputs[at.lengths], {{s.n}, DType::i64});
  if (at.key_ranges > 0)
    require_type(c.op, "key_ranges", c.inputs[at.key_ranges], {{s.n, s.tq, 2}, DType::i64});
  // Blocks of four random numbers count to 2^32 in a row.
  if (o.dropout > 0)
    require(1.0 * s.heads * s.tq * (s.tk + 3) <= 0x1p34, c.op,
            ": dropout has numbers for 2^34 weights "
            "of a row, and ",
            s.heads, " heads of ", s.tq, " by ", s.tk, " are more");
}

namespace {

std::vector<TensorType> shape(const ShapeContext& c) {
  check_attention(c, 3);
  const TensorType& q = c.inputs[0];
  AttentionSizes s(q.shape, c.inputs[2].shape, c.as<DotProductAttentionNodeOptions>());
  return {{{s.n, s.tq, s.heads, s.e}, q.dtype}, {{s.n, s.heads, s.tq}, statistics_type(q.dtype)}};
}

std::vector<Tensor> gradient(const GradContext& c) {
  std::vector<Tensor> inputs{c.input(0), c.input(1), c.input(2), c.output(0), c.output(1), c.dy(0)},
      grads(c.input_count());
  for (int i = 3; i < c.input_count(); ++i) inputs.push_back(c.input(i));
  Node& node = apply(dot_product_attention_grad_op, inputs, c.as<DotProductAttentionNodeOptions>());
  for (int i = 0; i < 3; ++i) grads[i] = Tensor(node, i);
  return grads;
}

template <class T, class S>
void run(const KernelContext& c) {
  const auto& o = c.as<DotProductAttentionNodeOptions>();
  AttentionOperands<T> operands = attention_operands<T>(c, 3);
  const AttentionSizes& s = operands.sizes;
  check_attention_lengths(s);
  AttentionIndices at(o, 3);
  WeightDropout dropout(o, at.random > 0 ? c.input(at.random).as<std::int64_t>() : nullptr);
  for_each_query(s, [&](std::int64_t row, std::int64_t head, std::int64_t query) {
    std::int64_t first = s.keys(row, query).first;
    std::vector<double> scores = operands.scores(row, head, query), y(s.e);
    double highest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (double x : scores) highest = x > highest || std::isnan(x) ? x : highest;
    bool none = highest == -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < scores.size() && !none; ++i) {
      double weight = std::exp(scores[i] - highest);
      std::int64_t key = first + i;
      sum += weight;
      weight *= dropout.factor(row, s.weight(head, query, key));
      const T* of_key = operands.v + s.key_at(row, key, s.kv_head(head), s.e);
      for (std::int64_t j = 0; j < s.e && weight != 0; ++j) y[j] += weight * load(of_key[j]);
    }
    T* out = c.output(0).as<T>() + s.query_at(row, query, head, s.e);
    for (std::int64_t j = 0; j < s.e; ++j) out[j] = store<T>(none ? 0 : y[j] / sum);
    c.output(1).as<S>()[(row * s.heads + head) * s.tq + query] =
        static_cast<S>(none ? highest : highest + std::log(sum));
  });
}

void reference(const KernelContext& c) {
  dispatch_floating(c.input(0).dtype(), c.op, [&](auto t) {
    using T = decltype(t);
    run<T, std::conditional_t<std::is_same_v<T, double>, double, float>>(c);
  });
}

// Two products, of which causal attention takes about half.
double flops(const Node& node) {
  AttentionSizes s(node.input(0).shape(), node.input(2).shape(),
                   node.as<DotProductAttentionNodeOptions>());
  double pairs = 1.0 * s.n * s.heads * s.tq * s.tk;
  return 2 * pairs * (s.d + s.e) * (s.causal && s.tq == s.tk ? 0.5 : 1);
}

}  // namespace

const OpDef dot_product_attention_op{.name = "dot_product_attention",
                                     .shape = shape,
                                     .gradient = gradient,
                                     .reference = reference,
                                     .autocast = Autocast::low,
                                     .flops = flops};

}  // namespace belfry
