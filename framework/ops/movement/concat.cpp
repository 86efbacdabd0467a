#include <cstring>

#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/movement/shape_ops.h"

namespace belfry {
namespace {

std::vector<TensorType> shape_rule(const ShapeContext& c) {
  int axis = c.as<AxisOptions>().axis;
  const TensorType& first = c.inputs[0];
  std::int64_t size = 0;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const TensorType& part = c.inputs[i];
    require(part.dtype == first.dtype && part.shape.rank() == first.shape.rank()
                && part.shape.with(axis, 0) == first.shape.with(axis, 0),
            c.op, ": part 0 is ", first, " but part ", i, " is ", part,
            "; parts may differ in size along axis ", axis, " only");
    size += part.shape[axis];
  }
  return {{first.shape.with(axis, size), first.dtype}};
}

std::vector<Tensor> gradient(const GradContext& c) {
  int axis = c.as<AxisOptions>().axis;
  std::vector<std::int64_t> sizes;
  for (const Tensor& part : c.node().inputs()) sizes.push_back(part.size(axis));
  return split(c.dy(), sizes, axis);
}

void reference(const KernelContext& c) {
  const Shape& shape = c.output().shape();
  if (shape.elements() == 0) return;
  int axis = c.as<AxisOptions>().axis;
  std::int64_t blocks = 1;
  for (int i = 0; i < axis; ++i) blocks *= shape[i];
  auto* out = c.output().as<std::byte>();
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (const ArrayView& part : c.inputs) {
      std::int64_t bytes = part.type.bytes() / blocks;
      if (bytes == 0) continue;
      std::memcpy(out, part.as<const std::byte>() + block * bytes, bytes);
      out += bytes;
    }
  }
}

}  // namespace

const OpDef concat_op{.name = "concat",
                      .shape = shape_rule,
                      .gradient = gradient,
                      .reference = reference,
                      .autocast = Autocast::widest};

Tensor concat(std::vector<Tensor> parts, int axis) {
  require(!parts.empty(), "concat: no parts; pass at least 1");
  require_defined("concat", parts);
  axis = normalize_axis(axis, parts[0].rank(), "concat");
  if (parts.size() == 1) return parts[0];
  return apply1(concat_op, std::move(parts), AxisOptions{axis});
}

Tensor stack(std::vector<Tensor> parts, int axis) {
  require(!parts.empty(), "stack: no parts; pass at least 1");
  TensorType first = parts[0].type();
  axis = normalize_axis(axis, first.shape.rank() + 1, "stack");
  std::vector<std::int64_t> sizes(first.shape.begin(), first.shape.end());
  sizes.insert(sizes.begin() + axis, 1);
  // In mixed precision concat() takes the widest type, as for parts of its own.
  bool may_mix = parts[0].graph().mixed_precision() && is_floating(first.dtype);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    bool types_agree =
        parts[i].dtype() == first.dtype || (may_mix && is_floating(parts[i].dtype()));
    require(parts[i].shape() == first.shape && types_agree, "stack: part 0 is ", first,
            " but part ", i, " is ", parts[i].type(), "; parts must be alike");
    parts[i] = reshape(parts[i], Shape(sizes));
  }
  return concat(std::move(parts), axis);
}

}  // namespace belfry
