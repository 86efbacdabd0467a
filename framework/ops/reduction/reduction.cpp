#include "belfry/framework/ops/reduction/reduction.h"

#include <algorithm>
#include <numeric>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"

namespace belfry {
namespace {

bool listed(const std::vector<int>& axes, int axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

Shape keep_dims_shape(const Shape& x, const std::vector<int>& axes) {
  Shape out = x;
  for (int axis : axes) out = out.with(axis, 1);
  return out;
}

}  // namespace

ReduceOptions normalize(const ReduceOptions& options, const Tensor& x, std::string_view what) {
  require_defined(what, {x});
  int rank = x.rank();
  ReduceOptions out = options;
  for (int& axis : out.axes) axis = normalize_axis(axis, rank, what);
  if (out.axes.empty()) {
    out.axes.resize(rank);
    std::iota(out.axes.begin(), out.axes.end(), 0);
  }
  std::sort(out.axes.begin(), out.axes.end());
  auto twice = std::adjacent_find(out.axes.begin(), out.axes.end());
  require(twice == out.axes.end(), what, ": axis ", twice == out.axes.end() ? 0 : *twice,
          " is listed twice");
  return out;
}

Shape reduced_shape(const Shape& x, const ReduceOptions& options) {
  if (options.keep_dims) return keep_dims_shape(x, options.axes);
  return ReductionWalk(x, options.axes).kept;
}

std::vector<TensorType> reduce_shape(const ShapeContext& c) {
  const TensorType& x = c.inputs[0];
  require(in_domain(x.dtype, Domain::number), c.op, ": expected a number type, got ", x,
          "; cast it first");
  return {{reduced_shape(x.shape, c.as<ReduceOptions>()), x.dtype}};
}

Tensor repeat_to(Tensor reduced, const Shape& x, const ReduceOptions& options) {
  return broadcast_to(reshape(reduced, keep_dims_shape(x, options.axes)), x);
}

std::vector<Tensor> extremum_gradient(const GradContext& c) {
  Tensor x = c.input();
  const auto& options = c.as<ReduceOptions>();
  Tensor chosen = equal(x, repeat_to(c.output(), x.shape(), options));
  DType wide = x.dtype() == DType::f64 ? DType::f64 : DType::f32;  // 16 bits count to 2048 at most
  Tensor count = sum(cast(chosen, wide), options);
  Tensor each = repeat_to(cast(cast(c.dy(), wide) / count, x.dtype()), x.shape(), options);
  return {where(chosen, each, constant(x.graph(), 0, x.dtype()))};
}

ReductionWalk::ReductionWalk(const Shape& x, const std::vector<int>& axes) {
  Strides strides = row_major(x), sizes_kept{}, sizes_reduced{};
  std::size_t n_kept = 0, n_reduced = 0;
  for (int axis = 0; axis < x.rank(); ++axis) {
    std::int64_t stride = strides[axis];
    if (listed(axes, axis)) {
      reduced_strides[n_reduced] = stride;
      sizes_reduced[n_reduced++] = x[axis];
    } else {
      kept_strides[n_kept] = stride;
      sizes_kept[n_kept++] = x[axis];
    }
  }
  kept = Shape(std::span<const std::int64_t>(sizes_kept.data(), n_kept));
  reduced = Shape(std::span<const std::int64_t>(sizes_reduced.data(), n_reduced));
}

}  // namespace belfry
