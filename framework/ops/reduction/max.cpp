#include <limits>

#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/reduction/reduction.h"

namespace belfry {
namespace {

struct MaxFold {
  template <class T>
  using Accumulator = compute_type<T>;
  template <class A>
  static A first() {
    return std::is_floating_point_v<A> ? -std::numeric_limits<A>::infinity()
                                       : std::numeric_limits<A>::lowest();
  }
  template <class A>
  static A add(A a, A b) {
    return functor::Maximum::apply<StdMath>(a, b);
  }
};

struct MinFold {
  template <class T>
  using Accumulator = compute_type<T>;
  template <class A>
  static A first() {
    return std::is_floating_point_v<A> ? std::numeric_limits<A>::infinity()
                                       : std::numeric_limits<A>::max();
  }
  template <class A>
  static A add(A a, A b) {
    return functor::Minimum::apply<StdMath>(a, b);
  }
};

}  // namespace

const OpDef max_op{.name = "max",
                   .shape = reduce_shape,
                   .gradient = extremum_gradient,
                   .reference = reduce_reference<MaxFold>,
                   .flops = reduce_flops};

Tensor max(Tensor x, ReduceOptions options) {
  return apply1(max_op, {x}, normalize(options, x, "max"));
}

const OpDef min_op{.name = "min",
                   .shape = reduce_shape,
                   .gradient = extremum_gradient,
                   .reference = reduce_reference<MinFold>,
                   .flops = reduce_flops};

Tensor min(Tensor x, ReduceOptions options) {
  return apply1(min_op, {x}, normalize(options, x, "min"));
}

}  // namespace belfry
