#include "belfry/framework/ops/argmax.h"

#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/reduce.h"
#include "belfry/framework/ops/reduction.h"

namespace belfry {
namespace {

struct Better {
  bool operator()(auto a, auto b) const { return a > b; }
};

}  // namespace

const OpDef argmax_op{.name = "argmax",
                      .shape = argmax_shape,
                      .gradient = no_gradient,
                      .reference = argmax_reference<Better>,
                      .flops = reduce_flops};

Tensor argmax(Tensor x, int axis) {
  require_defined("argmax", {x});
  return apply1(argmax_op, {x}, AxisOptions{normalize_axis(axis, x.rank(), "argmax")});
}

}  // namespace belfry
