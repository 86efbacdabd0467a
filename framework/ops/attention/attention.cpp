#include "belfry/framework/ops/attention/attention.h"

#include <cmath>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/attention/dot_product_attention.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/nn_checks.h"

namespace belfry {

AttentionIndices::AttentionIndices(const DotProductAttentionNodeOptions& o, int first)
    : inputs(first) {
  if (o.mask) mask = inputs++;
  if (o.lengths) lengths = inputs++;
  if (o.key_ranges) key_ranges = inputs++;
  if (o.dropout > 0) random = inputs++;
}

AttentionSizes::AttentionSizes(const Shape& q, const Shape& v,
                               const DotProductAttentionNodeOptions& o)
    : n(q[0]),
      tq(q[1]),
      tk(v[1]),
      heads(q[2]),
      kv_heads(v[2]),
      d(q[3]),
      e(v[3]),
      causal(o.causal),
      window(o.window) {}

AttentionSizes AttentionSizes::with(const void* mask, const Shape& mask_shape, const void* lengths,
                                    const void* key_ranges) const {
  AttentionSizes out = *this;
  out.mask = static_cast<const bool*>(mask);
  std::int64_t stride = 1;
  for (int axis = 3; mask && axis >= 0; --axis) {
    out.mask_strides[axis] = mask_shape[axis] == 1 ? 0 : stride;
    stride *= mask_shape[axis];
  }
  out.lengths = static_cast<const std::int64_t*>(lengths);
  out.key_ranges = static_cast<const std::int64_t*>(key_ranges);
  return out;
}

void check_attention_lengths(const AttentionSizes& sizes) {
  for (std::int64_t row = 0; sizes.lengths && row < sizes.n; ++row)
    require(sizes.lengths[row] >= 0 && sizes.lengths[row] <= sizes.tk,
            dot_product_attention_op.name, ": length ", sizes.lengths[row], " at row ", row,
            " is outside 0..", sizes.tk, "; it counts the keys of the row that are not padding");
}

namespace {

void check(const Scope& s, const Tensor& q, const Tensor& k, const Tensor& v,
           const DotProductAttentionOptions& o) {
  constexpr std::string_view name = "scaled_dot_product_attention";
  require_defined(name, {q, k, v});
  at_scope(s.path(), [&] {
    require(o.dropout >= 0 && o.dropout < 1, name, ": dropout must be in [0, 1), got ", o.dropout);
    require(o.window >= 0, name, ": a window of ", o.window, "; expected at least 0");
    require(!o.mask.defined() || o.mask.dtype() == DType::boolean, name,
            ": the mask must be bool, got ", o.mask.defined() ? o.mask.type() : TensorType());
    for (const auto& [operand, x] :
         {std::pair("lengths", &o.lengths), std::pair("key_ranges", &o.key_ranges)})
      require(!x->defined() || x->dtype() == DType::i32 || x->dtype() == DType::i64, name, ": ",
              operand, " must be i32 or i64; cast them");
  });
}

}  // namespace

Tensor scaled_dot_product_attention(const Scope& s, Tensor q, Tensor k, Tensor v,
                                    const DotProductAttentionOptions& o) {
  check(s, q, k, v, o);
  Graph::PlacementGuard guard(s.graph(), s.placement());
  DotProductAttentionNodeOptions node{.causal = o.causal,
                                      .window = o.window,
                                      .scale = o.scale,
                                      .mask = o.mask.defined(),
                                      .lengths = o.lengths.defined(),
                                      .key_ranges = o.key_ranges.defined(),
                                      .dropout = o.training ? o.dropout : 0};
  if (o.scale == 0 && q.rank() == 4 && q.size(3) > 0) node.scale = 1 / std::sqrt(q.size(3));
  std::vector<Tensor> inputs{q, k, v};
  if (node.mask) inputs.push_back(o.mask);
  if (node.lengths) inputs.push_back(cast(o.lengths, DType::i64));
  if (node.key_ranges) inputs.push_back(cast(o.key_ranges, DType::i64));
  if (node.dropout > 0) {
    inputs.push_back(random_state(s.graph()));
    node.stream = s.next_stream();
  }
  return Tensor(apply(dot_product_attention_op, s, inputs, node), 0);
}

}  // namespace belfry
