#include "belfry/framework/ops/argmax.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/reduce.h"
#include "belfry/framework/ops/reduction.h"

namespace belfry {
namespace {

struct Better {
  bool operator()(auto a, auto b) const { return a < b; }
};

}  // namespace

const OpDef argmin_op{.name = "argmin",
                      .shape = argmax_shape,
                      .gradient = no_gradient,
                      .reference = argmax_reference<Better>,
                      .flops = reduce_flops};

Tensor argmin(Tensor x, int axis) {
  require_defined("argmin", {x});
  return apply1(argmin_op, {x}, AxisOptions{normalize_axis(axis, x.rank(), "argmin")});
}

}  // namespace belfry
