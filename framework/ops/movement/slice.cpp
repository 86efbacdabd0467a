#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise/strided_walk.h"
#include "belfry/framework/ops/movement/shape_ops.h"

namespace belfry {
namespace {

void check_lengths(const Shape& x, const SliceOptions& o) {
  std::size_t rank = x.rank();
  require(o.begin.size() == rank && o.size.size() == rank
              && (o.strides.empty() || o.strides.size() == rank),
          "slice: ", o.begin.size(), " begins, ", o.size.size(), " sizes and ", o.strides.size(),
          " strides for a tensor of shape ", x, "; pass one for each axis (strides may be empty)");
}

std::vector<TensorType> shape_rule(const ShapeContext& c) {
  const Shape& x = c.inputs[0].shape;
  const auto& o = c.as<SliceOptions>();
  for (int axis = 0; axis < x.rank(); ++axis) {
    std::size_t a = axis;
    require(o.strides[a] >= 1, c.op, ": axis ", axis, " has the stride ", o.strides[a],
            "; strides are at least 1");
    require(o.size[a] >= 0, c.op, ": axis ", axis, " has the size ", o.size[a],
            "; sizes are at least 0, or -1 for up to the end");
    bool inside = o.begin[a] >= 0 && o.begin[a] <= x[axis]
                  && (o.size[a] == 0
                      || (o.begin[a] < x[axis]
                          && o.size[a] - 1 <= (x[axis] - 1 - o.begin[a]) / o.strides[a]));
    require(inside, c.op, ": ", o.size[a], " elements from ", o.begin[a], " on with stride ",
            o.strides[a], " are not inside axis ", axis, " of ", c.inputs[0]);
  }
  return {{Shape(o.size), c.inputs[0].dtype}};
}

/// dy with stride - 1 zeros between neighbours along an axis.
Tensor spread(Tensor dy, int axis, std::int64_t stride) {
  if (stride == 1 || dy.size(axis) <= 1) return dy;
  const Shape shape = dy.shape();
  std::int64_t before = 1, behind = 1;
  for (int i = 0; i <= axis; ++i) before *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) behind *= shape[i];
  Tensor apart = pad(reshape(dy, Shape{before, 1, behind}),
                     {.before = {0, 0, 0}, .after = {0, stride - 1, 0}});
  Tensor whole = reshape(apart, shape.with(axis, shape[axis] * stride));
  // Without the zeros behind the last one, which may lie outside x.
  std::vector<std::int64_t> size(whole.shape().begin(), whole.shape().end());
  size[axis] -= stride - 1;
  return slice(whole, {.begin = std::vector<std::int64_t>(size.size(), 0), .size = size});
}

std::vector<Tensor> gradient(const GradContext& c) {
  const auto& o = c.as<SliceOptions>();
  const Shape& x = c.input().shape();
  Tensor dx = c.dy();
  for (int axis = 0; axis < x.rank(); ++axis) dx = spread(dx, axis, o.strides[axis]);
  PadOptions margins{.before = o.begin, .after = {}};
  for (int axis = 0; axis < x.rank(); ++axis)
    margins.after.push_back(x[axis] - o.begin[axis] - dx.size(axis));
  return {pad(dx, margins)};
}

void reference(const KernelContext& c) {
  const auto& o = c.as<SliceOptions>();
  Strides strides = row_major(c.input(0).shape());
  std::int64_t start = 0;
  for (std::size_t i = 0; i < o.begin.size(); ++i) {
    start += o.begin[i] * strides[i];
    strides[i] *= o.strides[i];
  }
  dispatch(c.output().dtype(), [&](auto t) {
    using T = decltype(t);
    const T* x = c.input(0).as<const T>();
    T* y = c.output().as<T>();
    strided_walk<1>(c.output().shape(), {strides}, [&](const auto& at) { *y++ = x[at[0]]; },
                    {start});
  });
}

}  // namespace

const OpDef slice_op{
    .name = "slice", .shape = shape_rule, .gradient = gradient, .reference = reference};

Tensor slice(Tensor x, SliceOptions options) {
  check_lengths(x.shape(), options);
  if (options.strides.empty()) options.strides.assign(options.begin.size(), 1);
  for (int axis = 0; axis < x.rank(); ++axis) {
    std::size_t a = axis;
    std::int64_t left = x.size(axis) - options.begin[a], stride = options.strides[a];
    if (options.size[a] == -1 && left >= 0 && stride >= 1)
      options.size[a] = left / stride + (left % stride != 0);
  }
  bool whole = options.size == std::vector<std::int64_t>(x.shape().begin(), x.shape().end());
  for (std::int64_t begin : options.begin) whole = whole && begin == 0;
  for (std::int64_t stride : options.strides) whole = whole && stride == 1;
  return whole && !x.graph().keeps_idle_nodes() ? x : apply1(slice_op, {x}, std::move(options));
}

std::vector<Tensor> split(Tensor x, std::vector<std::int64_t> sizes, int axis) {
  require_defined("split", {x});
  axis = normalize_axis(axis, x.rank(), "split");
  std::int64_t total = 0;
  for (std::int64_t size : sizes) {
    require(size >= 0, "split: a piece has the negative size ", size);
    total += size;
  }
  require(total == x.size(axis), "split: the sizes [", join(sizes, ", "), "] add up to ", total,
          " but axis ", axis, " of ", x.type(), " has size ", x.size(axis));
  SliceOptions piece{.begin = std::vector<std::int64_t>(x.rank(), 0),
                     .size = std::vector<std::int64_t>(x.shape().begin(), x.shape().end())};
  std::vector<Tensor> pieces;
  std::size_t a = axis;
  for (std::int64_t size : sizes) {
    piece.size[a] = size;
    pieces.push_back(slice(x, piece));
    piece.begin[a] += size;
  }
  return pieces;
}

std::vector<Tensor> split(Tensor x, int pieces, int axis) {
  require_defined("split", {x});
  axis = normalize_axis(axis, x.rank(), "split");
  require(pieces >= 1 && x.size(axis) % pieces == 0, "split: axis ", axis, " of ", x.type(),
          " has size ", x.size(axis), ", which cannot be split into ", pieces, " equal pieces");
  return split(x, std::vector<std::int64_t>(pieces, x.size(axis) / pieces), axis);
}

}  // namespace belfry
