#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/reduce.h"

namespace belfry {
namespace {

// d/da = b a^(b - 1), which is 0 where b is 0, even where a^-1 is infinite; d/db = a^b log(a). The
// arguments are replaced, not only the results: an infinity in a branch not taken would come back
// as NaN when this gradient is differentiated.
std::vector<Tensor> gradient(const GradContext& c) {
  Tensor a = c.input(0), b = c.input(1);
  Tensor zero = constant(a.graph(), 0, a.dtype());
  Tensor one = constant(a.graph(), 1, a.dtype());
  Tensor flat = equal(b, zero);
  Tensor positive = greater(a, zero);
  Tensor da = where(flat, zero, c.dy() * b * pow(a, where(flat, one, b) - one));
  Tensor db = where(positive, c.dy() * c.output() * log(where(positive, a, one)), zero);
  return {sum_to(da, a.shape()), sum_to(db, b.shape())};
}

}  // namespace

const OpDef pow_op = elementwise_op<functor::Pow>(gradient);

Tensor pow(Tensor a, Tensor b) { return apply1(pow_op, {a, b}); }

}  // namespace belfry
