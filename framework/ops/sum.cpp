#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/reduction.h"

namespace belfry {
namespace {

std::vector<Tensor> gradient(const GradContext& c) {
  return {repeat_to(c.dy(), c.input().shape(), c.as<ReduceOptions>())};
}

struct Fold {
  template <class T>
  using Accumulator = WideAccumulator<T>;
  template <class A>
  static A first() {
    return 0;
  }
  static auto add(auto a, auto b) { return a + b; }
};

}  // namespace

const OpDef sum_op{.name = "sum",
                   .shape = reduce_shape,
                   .gradient = gradient,
                   .reference = reduce_reference<Fold>,
                   .flops = reduce_flops};

Tensor sum(Tensor x, ReduceOptions options) {
  return apply1(sum_op, {x}, normalize(options, x, "sum"));
}

}  // namespace belfry
