#include "belfry/framework/ops/reduction/argmax.h"

#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/reduction/reduction.h"

namespace belfry {
namespace {

struct Greater {
  bool operator()(auto a, auto b) const { return a > b; }
};

struct Less {
  bool operator()(auto a, auto b) const { return a < b; }
};

}  // namespace

const OpDef argmax_op{.name = "argmax",
                      .shape = argmax_shape,
                      .gradient = no_gradient,
                      .reference = argmax_reference<Greater>,
                      .flops = reduce_flops};

Tensor argmax(Tensor x, int axis) {
  require_defined("argmax", {x});
  return apply1(argmax_op, {x}, AxisOptions{normalize_axis(axis, x.rank(), "argmax")});
}

const OpDef argmin_op{.name = "argmin",
                      .shape = argmax_shape,
                      .gradient = no_gradient,
                      .reference = argmax_reference<Less>,
                      .flops = reduce_flops};

Tensor argmin(Tensor x, int axis) {
  require_defined("argmin", {x});
  return apply1(argmin_op, {x}, AxisOptions{normalize_axis(axis, x.rank(), "argmin")});
}

}  // namespace belfry
