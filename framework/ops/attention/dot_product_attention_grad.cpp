#include "belfry/framework/ops/attention/attention_weights.h"

namespace belfry {
namespace {

constexpr int operands_before = 6;  // the mask and what follows it

std::vector<TensorType> shape(const ShapeContext& c) {
  check_attention(c, operands_before);
  const TensorType &q = c.inputs[0], &k = c.inputs[1], &v = c.inputs[2];
  AttentionSizes s(q.shape, v.shape, c.as<DotProductAttentionNodeOptions>());
  TensorType y{{s.n, s.tq, s.heads, s.e}, q.dtype};
  require_type(c.op, "y", c.inputs[3], y);
  require_type(c.op, "log of the sum of exponentials", c.inputs[4],
               {{s.n, s.heads, s.tq}, statistics_type(q.dtype)});
  require_type(c.op, "gradient of y", c.inputs[5], y);
  return {q, k, v};
}

/// One query: with weights p, dropout's factors f and g = sum of dy y, which is that of p f (dy v)
/// over the keys, the gradient of a score is p (f (dy v) - g).
template <class T, class S>
class Gradients {
 public:
  explicit Gradients(const KernelContext& c)
      : operands_(attention_operands<T>(c, operands_before)),
        s_(operands_.sizes),
        y_(c.input(3).as<T>()),
        dy_(c.input(5).as<T>()),
        log_sums_(c.input(4).as<S>()),
        dropout_(c.as<DotProductAttentionNodeOptions>(), random_state_of(c)),
        dq_(s_.n * s_.tq * s_.heads * s_.d),
        dk_(s_.n * s_.tk * s_.kv_heads * s_.d),
        dv_(s_.n * s_.tk * s_.kv_heads * s_.e) {}

  void add_query(std::int64_t row, std::int64_t head, std::int64_t query) {
    double log_sum = double{log_sums_[(row * s_.heads + head) * s_.tq + query]};
    if (log_sum == -std::numeric_limits<double>::infinity()) return;
    std::int64_t first = s_.keys(row, query).first, at_y = s_.query_at(row, query, head, s_.e),
                 at_q = s_.query_at(row, query, head, s_.d);
    double shift = 0;
    for (std::int64_t j = 0; j < s_.e; ++j) shift += load(dy_[at_y + j]) * load(y_[at_y + j]);
    std::vector<double> scores = operands_.scores(row, head, query);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      double weight = std::exp(scores[i] - log_sum);
      if (weight == 0) continue;
      std::int64_t key = first + i, at_k = s_.key_at(row, key, s_.kv_head(head), s_.d),
                   at_v = s_.key_at(row, key, s_.kv_head(head), s_.e);
      double factor = dropout_.factor(row, s_.weight(head, query, key)), product = 0;
      for (std::int64_t j = 0; j < s_.e; ++j) {
        product += load(dy_[at_y + j]) * load(operands_.v[at_v + j]);
        dv_[at_v + j] += weight * factor * load(dy_[at_y + j]);
      }
      double slope = operands_.scale * weight * (factor * product - shift);
      for (std::int64_t j = 0; j < s_.d; ++j) {
        dq_[at_q + j] += slope * load(operands_.k[at_k + j]);
        dk_[at_k + j] += slope * load(operands_.q[at_q + j]);
      }
    }
  }

  void write(const KernelContext& c) const {
    int output = 0;
    for (const std::vector<double>* sums : {&dq_, &dk_, &dv_}) {
      T* out = c.output(output++).as<T>();
      for (double x : *sums) *out++ = store<T>(x);
    }
  }

 private:
  static const std::int64_t* random_state_of(const KernelContext& c) {
    AttentionIndices at(c.as<DotProductAttentionNodeOptions>(), operands_before);
    return at.random > 0 ? c.input(at.random).as<std::int64_t>() : nullptr;
  }

  AttentionOperands<T> operands_;
  const AttentionSizes& s_;
  const T *y_, *dy_;
  const S* log_sums_;
  WeightDropout dropout_;
  std::vector<double> dq_, dk_, dv_;
};

void reference(const KernelContext& c) {
  dispatch_floating(c.input(0).dtype(), c.op, [&](auto t) {
    using T = decltype(t);
    Gradients<T, std::conditional_t<std::is_same_v<T, double>, double, float>> g(c);
    AttentionSizes s(c.input(0).shape(), c.input(2).shape(),
                     c.as<DotProductAttentionNodeOptions>());
    for_each_query(s, [&](auto... at) { g.add_query(at...); });
    g.write(c);
  });
}

// Five products where the op has two: scores once more, and four gradients.
double flops(const Node& node) {
  AttentionSizes s(node.input(0).shape(), node.input(2).shape(),
                   node.as<DotProductAttentionNodeOptions>());
  double pairs = 1.0 * s.n * s.heads * s.tq * s.tk;
  return 2 * pairs * (3 * s.d + 2 * s.e) * (s.causal && s.tq == s.tk ? 0.5 : 1);
}

}  // namespace

const OpDef dot_product_attention_grad_op{
    .name = "dot_product_attention_grad", .shape = shape, .reference = reference, .flops = flops};

}  // namespace belfry
