#pragma once
// The common parts of the reference kernels of attention: the weights of one query, in double.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "belfry/framework/ops/attention/dot_product_attention.h"
#include "belfry/framework/ops/nn_checks.h"
#include "belfry/framework/ops/random/draw.h"

namespace belfry {

/// The factors of weights under dropout: 0 or 1 / (1 - rate).
class WeightDropout {
 public:
  WeightDropout(const DotProductAttentionNodeOptions& o, const std::int64_t* random_state)
      : rate_(o.dropout), state_(random_state) {
    if (!state_) return;
    block_.key = philox_key(static_cast<std::uint64_t>(state_[0]), o.stream);
    block_.step = static_cast<std::uint64_t>(state_[1]) & 0xffffffffffff;
  }
  double factor(std::int64_t row, std::int64_t weight) {
    if (!state_) return 1;
    block_.low = static_cast<std::uint64_t>(state_[2] + row) << 32 | (weight / 4);
    return uniform_float(block_.words()[weight % 4]) >= rate_ ? 1 / (1 - double{rate_}) : 0;
  }

 private:
  float rate_;
  const std::int64_t* state_;
  RandomBlock block_;
};

/// The operands of a node, and one query after the other.
template <class T>
struct AttentionOperands {
  AttentionSizes sizes;
  double scale;
  const T *q, *k, *v;

  /// The scores of keys first .. end - 1; minus infinity for those that do not count.
  std::vector<double> scores(std::int64_t row, std::int64_t head, std::int64_t query) const {
    auto [first, end] = sizes.keys(row, query);
    std::vector<double> out(end - first, -std::numeric_limits<double>::infinity());
    const T* of_query = q + sizes.query_at(row, query, head, sizes.d);
    for (std::int64_t key = first; key < end; ++key) {
      if (!sizes.counts(row, head, query, key)) continue;
      const T* of_key = k + sizes.key_at(row, key, sizes.kv_head(head), sizes.d);
      double sum = 0;
      for (std::int64_t i = 0; i < sizes.d; ++i) sum += load(of_query[i]) * load(of_key[i]);
      out[key - first] = scale * sum;
    }
    return out;
  }
};

/// Calls f(row, head, query).
template <class F>
void for_each_query(const AttentionSizes& s, F f) {
  for (std::int64_t row = 0; row < s.n; ++row)
    for (std::int64_t head = 0; head < s.heads; ++head)
      for (std::int64_t query = 0; query < s.tq; ++query) f(row, head, query);
}

/// The operands of a reference kernel; the mask and what follows stand behind the `first` ones.
template <class T>
AttentionOperands<T> attention_operands(const KernelContext& c, int first) {
  const auto& o = c.as<DotProductAttentionNodeOptions>();
  AttentionIndices at(o, first);
  AttentionSizes sizes(c.input(0).shape(), c.input(2).shape(), o);
  return {sizes.with(at.mask > 0 ? c.input(at.mask).data : nullptr,
                     at.mask > 0 ? c.input(at.mask).shape() : Shape(),
                     at.lengths > 0 ? c.input(at.lengths).data : nullptr,
                     at.key_ranges > 0 ? c.input(at.key_ranges).data : nullptr),
          o.scale, c.input(0).as<T>(), c.input(1).as<T>(), c.input(2).as<T>()};
}

/// Errors unless q, k, v and what stands behind the `first` operands fit together.
void check_attention(const ShapeContext& c, int first);

}  // namespace belfry
