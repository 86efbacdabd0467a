// Ops that move elements and keep their order along the last axis; transpose and pad have files of
// their own.

#include <vector>

#include "belfry/framework/backend/cuda/kernels/movement/copy.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/collective.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/movement/shape_ops.h"

namespace belfry::cuda {
namespace {

std::unique_ptr<Kernel> copy_kernel(const Node& node, const Walk& from) {
  const TensorType& y = node.output();
  StridedCopy copy = strided_copy(y.shape, size_of(y.dtype), from, {row_major(y.shape)});
  return make_kernel([copy](const KernelArguments& a, Stream& stream) {
    run(copy, a.inputs[0], a.outputs[0], stream);
  });
}

std::unique_ptr<Kernel> make_broadcast_to(const Node& node, const Gpu&, const KernelOptions&) {
  return copy_kernel(node, {broadcast_strides(node.input(0).shape(), node.output().shape)});
}

std::unique_ptr<Kernel> make_slice(const Node& node, const Gpu&, const KernelOptions&) {
  const auto& o = node.as<SliceOptions>();
  Walk from{row_major(node.input(0).shape())};
  for (std::size_t i = 0; i < o.begin.size(); ++i) {
    from.first += o.begin[i] * from.strides[i];
    from.strides[i] *= o.strides[i];
  }
  return copy_kernel(node, from);
}

// Both sides seen as rows: a part has a piece of each row of the output.
std::unique_ptr<Kernel> make_concat(const Node& node, const Gpu&, const KernelOptions&) {
  const TensorType& y = node.output();
  std::int64_t rows = 1;
  for (int axis = 0; axis < node.as<AxisOptions>().axis; ++axis) rows *= y.shape[axis];
  Walk to{{rows == 0 ? 0 : y.shape.elements() / rows, 1}};
  std::vector<StridedCopy> copies;
  for (const Tensor& part : node.inputs()) {
    std::int64_t width = rows == 0 ? 0 : part.shape().elements() / rows;
    copies.push_back(strided_copy({rows, width}, size_of(y.dtype), {{width, 1}}, to));
    to.first += width;
  }
  return make_kernel([copies](const KernelArguments& a, Stream& stream) {
    for (std::size_t i = 0; i < copies.size(); ++i)
      run(copies[i], a.inputs[i], a.outputs[0], stream);
  });
}

void copy_all(const void* from, void* to, std::int64_t bytes, Stream& stream) {
  if (bytes > 0 && from != to) stream.copy_on_device(to, from, Bytes(bytes));
}

std::unique_ptr<Kernel> make_assign(const Node& node, const Gpu&, const KernelOptions&) {
  return make_kernel([bytes = node.input(0).type().bytes()](const KernelArguments& a, Stream& s) {
    copy_all(a.inputs[1], a.inputs[0], bytes, s);
  });
}

// The reduction over one tower. Where there are others, their communicator takes its place.
std::unique_ptr<Kernel> make_all_reduce(const Node& node, const Gpu&, const KernelOptions&) {
  std::vector<std::int64_t> bytes;
  for (const Tensor& x : node.inputs()) bytes.push_back(x.type().bytes());
  return make_kernel([bytes](const KernelArguments& a, Stream& stream) {
    for (std::size_t i = 0; i < bytes.size(); ++i)
      copy_all(a.inputs[i], a.outputs[i], bytes[i], stream);
  });
}

const KernelRegistration registrations[] = {{broadcast_to_op, make_broadcast_to},
                                            {slice_op, make_slice},
                                            {concat_op, make_concat},
                                            {assign_op, make_assign},
                                            {all_reduce_op, make_all_reduce}};

}  // namespace
}  // namespace belfry::cuda
