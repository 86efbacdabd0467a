#include <algorithm>

#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise/number.h"
#include "belfry/framework/ops/elementwise/strided_walk.h"
#include "belfry/framework/ops/movement/shape_ops.h"

namespace belfry {
namespace {

std::vector<TensorType> shape_rule(const ShapeContext& c) {
  const TensorType& x = c.inputs[0];
  const auto& o = c.as<PadOptions>();
  std::size_t rank = x.shape.rank();
  require(o.before.size() == rank && o.after.size() == rank, c.op, ": ", o.before.size(),
          " amounts before and ", o.after.size(), " after for ", x, "; pass one for each axis");
  require(holds(x.dtype, o.value), c.op, ": ", o.value, " is no value of ", x.dtype);
  Shape shape = x.shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    std::int64_t before = o.before[axis];
    std::int64_t after = o.after[axis];
    require(before >= 0 && after >= 0, c.op, ": axis ", axis, " has the amounts ", before, " and ",
            after, "; they are at least 0 (slice takes elements away)");
    shape = shape.with(axis, before + x.shape[axis] + after);
  }
  return {{shape, x.dtype}};
}

std::vector<Tensor> gradient(const GradContext& c) {
  const Shape& x = c.input().shape();
  return {slice(c.dy(), {.begin = c.as<PadOptions>().before,
                         .size = std::vector<std::int64_t>(x.begin(), x.end())})};
}

void reference(const KernelContext& c) {
  const auto& o = c.as<PadOptions>();
  Strides strides = row_major(c.output().shape());
  std::int64_t start = 0;
  for (std::size_t i = 0; i < o.before.size(); ++i) start += o.before[i] * strides[i];
  dispatch(c.output().dtype(), [&](auto t) {
    using T = decltype(t);
    const T* x = c.input(0).as<const T>();
    T* y = c.output().as<T>();
    std::fill_n(y, c.output().elements(), static_cast<T>(static_cast<compute_type<T>>(o.value)));
    strided_walk<1>(c.input(0).shape(), {strides}, [&](const auto& at) { y[at[0]] = *x++; },
                    {start});
  });
}

}  // namespace

const OpDef pad_op{
    .name = "pad", .shape = shape_rule, .gradient = gradient, .reference = reference};

Tensor pad(Tensor x, PadOptions options) {
  bool nothing =
      std::ssize(options.before) == x.rank() && options.after.size() == options.before.size();
  for (std::int64_t amount : options.before) nothing = nothing && amount == 0;
  for (std::int64_t amount : options.after) nothing = nothing && amount == 0;
  return nothing && !x.graph().keeps_idle_nodes() ? x : apply1(pad_op, {x}, std::move(options));
}

}  // namespace belfry
