#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise/number.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/reduction/reduction.h"

namespace belfry {
namespace {

// dy times the product of the other factors. That is the product of those that are not 0, divided
// by this one unless it is 0, or nothing at all when another factor is 0.
std::vector<Tensor> gradient(const GradContext& c) {
  Tensor x = c.input();
  const auto& options = c.as<ReduceOptions>();
  Tensor zero = constant(x.graph(), 0, x.dtype()), one = constant(x.graph(), 1, x.dtype());
  Tensor is_zero = equal(x, zero);
  Tensor counted = cast(is_zero, DType::i64);
  Tensor other_zeros = repeat_to(sum(counted, options), x.shape(), options) - counted;
  Tensor factors = where(is_zero, one, x);
  Tensor product = repeat_to(c.dy() * prod(factors, options), x.shape(), options);
  return {where(equal(other_zeros, number(other_zeros, 0, "prod")), product / factors, zero)};
}

struct Fold {
  template <class T>
  using Accumulator = WideAccumulator<T>;
  template <class A>
  static A first() {
    return 1;
  }
  static auto add(auto a, auto b) { return a * b; }
};

}  // namespace

const OpDef prod_op{.name = "prod",
                    .shape = reduce_shape,
                    .gradient = gradient,
                    .reference = reduce_reference<Fold>,
                    .autocast = Autocast::f32,
                    .flops = reduce_flops};

Tensor prod(Tensor x, ReduceOptions options) {
  return apply1(prod_op, {x}, normalize(options, x, "prod"));
}

}  // namespace belfry
