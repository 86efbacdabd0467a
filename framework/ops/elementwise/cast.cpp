#include "belfry/framework/ops/elementwise/cast.h"

#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

std::vector<TensorType> shape_rule(const ShapeContext& c) {
  return {{c.inputs[0].shape, c.as<CastOptions>().dtype}};
}

std::vector<Tensor> gradient(const GradContext& c) {
  if (!is_floating(c.dy().dtype())) return {Tensor()};
  return {cast(c.dy(), c.input().dtype())};
}

void reference(const KernelContext& c) {
  dispatch(c.input(0).dtype(), [&](auto from) {
    dispatch(c.output().dtype(), [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      To* y = c.output().as<To>();
      for (std::int64_t i = 0; i < c.output().elements(); ++i)
        y[i] = static_cast<To>(convert<compute_type<To>>(detail::load<From>(c.input(0), i)));
    });
  });
}

}  // namespace

const OpDef cast_op{
    .name = "cast", .shape = shape_rule, .gradient = gradient, .reference = reference};

Tensor cast(Tensor x, DType dtype) {
  require_defined("cast", {x});
  if (x.dtype() == dtype) return x;
  return apply1(cast_op, {x}, CastOptions{dtype});
}

}  // namespace belfry
