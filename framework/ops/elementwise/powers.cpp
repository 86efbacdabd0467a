#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/elementwise/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

// d/da = b a^(b - 1), which is 0 where b is 0, even where a^-1 is infinite; d/db = a^b log(a). The
// arguments are replaced, not only the results: an infinity in a branch not taken would come back
// as NaN when this gradient is differentiated.
std::vector<Tensor> pow_gradient(const GradContext& c) {
  Tensor a = c.input(0), b = c.input(1);
  Tensor zero = constant(a.graph(), 0, a.dtype());
  Tensor one = constant(a.graph(), 1, a.dtype());
  Tensor flat = equal(b, zero);
  Tensor positive = greater(a, zero);
  Tensor da = where(flat, zero, c.dy() * b * pow(a, where(flat, one, b) - one));
  Tensor db = where(positive, c.dy() * c.output() * log(where(positive, a, one)), zero);
  return {sum_to(da, a.shape()), sum_to(db, b.shape())};
}

std::vector<Tensor> sqrt_gradient(const GradContext& c) { return {c.dy() * 0.5 / c.output()}; }

std::vector<Tensor> rsqrt_gradient(const GradContext& c) {
  Tensor y = c.output();
  return {c.dy() * -0.5 * y * y * y};
}

}  // namespace

const OpDef functor::Pow::op = elementwise_op<functor::Pow>(pow_gradient, Autocast::f32);

Tensor pow(Tensor a, Tensor b) { return apply1(functor::Pow::op, {a, b}); }

const OpDef functor::Sqrt::op = elementwise_op<functor::Sqrt>(sqrt_gradient, Autocast::f32);

Tensor sqrt(Tensor x) { return apply1(functor::Sqrt::op, {x}); }

const OpDef functor::Rsqrt::op = elementwise_op<functor::Rsqrt>(rsqrt_gradient, Autocast::f32);

Tensor rsqrt(Tensor x) { return apply1(functor::Rsqrt::op, {x}); }

Tensor square(Tensor x) { return mul(x, x); }

}  // namespace belfry
