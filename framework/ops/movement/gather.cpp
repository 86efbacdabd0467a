#include "belfry/framework/ops/movement/gather.h"

#include <cstring>

#include "belfry/framework/graph/graph.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "belfry/framework/ops/nn.h"

namespace belfry {
namespace {

std::vector<TensorType> embedding_shape(const ShapeContext& c) {
  require(c.inputs[0].shape.rank() == 2, c.op, ": the table must be [rows, width], got ",
          c.inputs[0]);
  return gather_shape(c);
}

}  // namespace

std::vector<TensorType> gather_shape(const ShapeContext& c) {
  const TensorType& x = c.inputs[0];
  const TensorType& indices = c.inputs[1];
  std::size_t axis = c.as<AxisOptions>().axis;
  require(indices.dtype == DType::i32 || indices.dtype == DType::i64, c.op,
          ": indices must be i32 or i64, got ", indices);
  std::vector<std::int64_t> sizes(x.shape.begin(), x.shape.end());
  auto at = sizes.erase(sizes.begin() + axis);
  sizes.insert(at, indices.shape.begin(), indices.shape.end());
  return {{Shape(sizes), x.dtype}};
}

std::vector<Tensor> gather_gradient(const GradContext& c) {
  return {apply1(gather_grad_op, {c.dy(), c.input(1)},
                 GatherGradOptions{c.input(0).shape(), c.as<AxisOptions>().axis}),
          {}};
}

void gather_reference(const KernelContext& c) {
  const ArrayView& x = c.input(0);
  RowIndex rows(c.op, c.input(1), x.shape(), c.as<AxisOptions>().axis);
  std::int64_t bytes = rows.inner * static_cast<std::int64_t>(size_of(x.dtype()));
  auto* out = c.output().as<std::byte>();
  for (std::int64_t outer = 0; outer < rows.outer; ++outer) {
    for (std::int64_t i = 0; i < rows.count; ++i, out += bytes) {
      const auto* row = x.as<const std::byte>() + (outer * rows.size + rows.at(i)) * bytes;
      if (bytes > 0) std::memcpy(out, row, bytes);
    }
  }
}

const OpDef gather_op{.name = "gather",
                      .shape = gather_shape,
                      .gradient = gather_gradient,
                      .reference = gather_reference};

Tensor gather(Tensor x, Tensor indices, int axis) {
  require_defined("gather", {x, indices});
  return apply1(gather_op, {x, indices}, AxisOptions{normalize_axis(axis, x.rank(), "gather")});
}

const OpDef embedding_lookup_op{.name = "embedding_lookup",
                                .shape = embedding_shape,
                                .gradient = gather_gradient,
                                .reference = gather_reference};

Tensor embedding_lookup(Tensor table, Tensor ids) {
  return apply1(embedding_lookup_op, {table, ids}, AxisOptions{0});
}

RowIndex::RowIndex(std::string_view op, const ArrayView& indices_in, const Shape& x, int axis)
    : indices(indices_in),
      narrow(indices.dtype() == DType::i32),
      size(x[axis]),
      count(indices.elements()) {
  for (int i = 0; i < axis; ++i) outer *= x[i];
  for (int i = axis + 1; i < x.rank(); ++i) inner *= x[i];
  for (std::int64_t i = 0; i < count; ++i) {
    require(size > 0, op, ": index ", at(i), " at position ", i, " into an axis of size 0");
    require(at(i) >= 0 && at(i) < size, op, ": index ", at(i), " at position ", i,
            " is outside 0..", size - 1);
  }
}

}  // namespace belfry
