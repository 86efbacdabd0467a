#include <algorithm>

#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise/strided_walk.h"
#include "belfry/framework/ops/movement/shape_ops.h"

namespace belfry {
namespace {

bool is_permutation_of(const std::vector<int>& axes, int rank) {
  std::array<bool, Shape::max_rank> seen{};
  for (int axis : axes) {
    if (axis < 0 || axis >= rank || seen[axis]) return false;
    seen[axis] = true;
  }
  return std::ssize(axes) == rank;
}

std::vector<TensorType> shape_rule(const ShapeContext& c) {
  const TensorType& x = c.inputs[0];
  const std::vector<int>& permutation = c.as<TransposeOptions>().permutation;
  require(is_permutation_of(permutation, x.shape.rank()), c.op, ": [", join(permutation, ", "),
          "] is no permutation of the axes of ", x, "; list each of 0..", x.shape.rank() - 1,
          " once");
  Shape shape = x.shape;
  for (int i = 0; i < shape.rank(); ++i) shape = shape.with(i, x.shape[permutation[i]]);
  return {{shape, x.dtype}};
}

std::vector<Tensor> gradient(const GradContext& c) {
  const std::vector<int>& permutation = c.as<TransposeOptions>().permutation;
  std::vector<int> inverse(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i) inverse[permutation[i]] = i;
  return {transpose(c.dy(), inverse)};
}

void reference(const KernelContext& c) {
  const std::vector<int>& permutation = c.as<TransposeOptions>().permutation;
  Strides own = row_major(c.input(0).shape()), strides{};
  for (std::size_t i = 0; i < permutation.size(); ++i) strides[i] = own[permutation[i]];
  dispatch(c.output().dtype(), [&](auto t) {
    using T = decltype(t);
    const T* x = c.input(0).as<const T>();
    T* y = c.output().as<T>();
    strided_walk<1>(c.output().shape(), {strides}, [&](const auto& at) { *y++ = x[at[0]]; });
  });
}

}  // namespace

const OpDef transpose_op{
    .name = "transpose", .shape = shape_rule, .gradient = gradient, .reference = reference};

Tensor transpose(Tensor x, std::vector<int> permutation) {
  if (permutation.empty())
    for (int axis = x.rank() - 1; axis >= 0; --axis) permutation.push_back(axis);
  // The shape rule reports what is no permutation; the identity needs no node.
  if (std::ssize(permutation) == x.rank() && std::is_sorted(permutation.begin(), permutation.end())
      && is_permutation_of(permutation, x.rank()))
    return x;
  return apply1(transpose_op, {x}, TransposeOptions{std::move(permutation)});
}

}  // namespace belfry
