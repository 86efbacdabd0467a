#include "belfry/framework/ops/argmax.h"

#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/reduce.h"

namespace belfry {
namespace {

struct Better {
  bool operator()(auto a, auto b) const { return a > b; }
};

}  // namespace

const OpDef argmax_op{.name = "argmax",
                      .shape = argmax_shape,
                      .gradient = no_gradient,
                      .reference = argmax_reference<Better>};

Tensor argmax(Tensor x, int axis) {
  require_defined("argmax", {x});
  return apply1(argmax_op, {x}, AxisOptions{normalize_axis(axis, x.rank(), "argmax")});
}

}  // namespace belfry
