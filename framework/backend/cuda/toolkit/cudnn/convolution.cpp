#include "belfry/framework/backend/cuda/toolkit/cudnn/convolution.h"

#include <algorithm>

#include "belfry/framework/graph/graph.h"
#include "belfry/framework/ops/convolution/convolution.h"

namespace belfry::cuda {
namespace {

std::optional<cudnnDataType_t> cudnn_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return CUDNN_DATA_FLOAT;
    case DType::bf16:
      return CUDNN_DATA_BFLOAT16;
    case DType::f16:
      return CUDNN_DATA_HALF;
    case DType::f64:
      return CUDNN_DATA_DOUBLE;
    default:
      return std::nullopt;
  }
}

/// cuDNN names sizes in the order n, c, then the spatial axes, whatever the order in memory.
GraphTensor channels_last(std::int64_t id, cudnnDataType_t type, const Shape& shape) {
  int last = shape.rank() - 1;
  GraphTensor t{.id = id, .type = type, .sizes = {shape[0], shape[last]}, .strides = {0, 1}};
  for (int axis = 1; axis < last; ++axis) t.sizes.push_back(shape[axis]);
  t.strides.resize(t.sizes.size());
  std::int64_t stride = shape[last];
  for (std::size_t i = t.sizes.size() - 1; i >= 2; --i) {
    t.strides[i] = stride;
    stride *= t.sizes[i];
  }
  t.strides[0] = stride;
  return t;
}

/// cuDNN's names for one direction.
struct Names {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t description, x, w, y, alpha, beta;
};
constexpr Names names_of(ConvDirection direction) {
  switch (direction) {
    case ConvDirection::forward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case ConvDirection::input:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    default:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
}

Descriptor description_of(const Convolution& c, cudnnDataType_t compute) {
  Descriptor d(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  d.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, compute)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION)
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::ssize(c.in))
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, c.stride)
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, c.dilation)
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, c.before)
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, c.after);
  return std::move(d).finalize();
}

/// y = product + bias. The product is in no memory.
void add_bias(OperationGraph& graph, cudnnDataType_t compute, const Descriptor& product,
              const Descriptor& bias, const Descriptor& y) {
  Descriptor sum(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  sum.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_ADD)
      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, compute);
  Descriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, graph.add(std::move(sum).finalize()))
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, product)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, bias)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  graph.add_operation(std::move(operation).finalize());
}

PlanKey key_of(const Convolution& c, bool bias, bool tensor_cores) {
  PlanKey key{static_cast<std::int64_t>(c.direction),
              static_cast<std::int64_t>(c.dtype),
              bias,
              tensor_cores,
              c.adds,
              c.batch,
              c.in_channels,
              c.out_channels,
              c.in_per_group};
  for (const Sizes& sizes : {c.in, c.out, c.window, c.stride, c.dilation, c.before, c.after})
    key.insert(key.end(), sizes.begin(), sizes.end());
  return key;
}

OperationGraph operations_of(const Convolution& c, cudnnDataType_t type, bool bias) {
  cudnnDataType_t compute = c.dtype == DType::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  OperationGraph graph;
  const Descriptor& x = graph.add(channels_last(id_x, type, c.x()));
  const Descriptor& w = graph.add(channels_last(id_w, type, c.w()));
  const Descriptor& y = graph.add(channels_last(id_y, type, c.y()));
  GraphTensor sums = channels_last(id_product, compute, c.y());
  sums.intermediate = true;
  const Descriptor& product = bias ? graph.add(sums) : y;

  Names names = names_of(c.direction);
  Descriptor operation(names.operation);
  operation.set(names.description, graph.add(description_of(c, compute)))
      .set(names.x, x)
      .set(names.w, w)
      .set(names.y, product);
  if (c.dtype == DType::f64) {
    operation.set(names.alpha, 1.0).set(names.beta, c.adds ? 1.0 : 0.0);
  } else {
    operation.set(names.alpha, 1.0f).set(names.beta, c.adds ? 1.0f : 0.0f);
  }
  graph.add_operation(std::move(operation).finalize());
  if (bias) add_bias(graph, compute, product, graph.add(channels_last(id_bias, type, c.bias())), y);
  return graph;
}

}  // namespace

Convolution convolution_of(const Node& node, ConvDirection direction) {
  ConvGeometry g = conv_geometry(node);
  Convolution c{.direction = direction,
                .dtype = node.output().dtype,
                .adds = direction == ConvDirection::input && has_addend(node),
                .batch = g.batch,
                .in_channels = g.in_channels,
                .out_channels = g.out_channels,
                .in_per_group = g.in_per_group()};
  for (const WindowAxis& axis : g.axes()) {
    c.in.push_back(axis.in);
    c.out.push_back(axis.out);
    c.window.push_back(axis.window);
    c.stride.push_back(axis.stride);
    c.dilation.push_back(axis.dilation);
    c.before.push_back(axis.before);
    c.after.push_back(axis.after);
  }
  return c;
}

Shape Convolution::image(std::int64_t first, const Sizes& sizes, std::int64_t last) {
  std::vector<std::int64_t> all{first};
  all.insert(all.end(), sizes.begin(), sizes.end());
  all.push_back(last);
  return Shape(all);
}

std::optional<GraphPlan> find_plan(const std::shared_ptr<CudnnHandle>& library,
                                   const Convolution& c, bool bias, bool tf32) {
  auto type = cudnn_type(c.dtype);
  if (!type) return std::nullopt;
  // Engines for other layouts copy both images: such an engine is to be the last choice.
  std::int64_t image = std::max(c.x().elements(), c.y().elements()) * size_of(c.dtype);
  PlanLimits limits{.tensor_cores = c.dtype != DType::f32 || tf32};
  limits.workspace = std::max(limits.workspace, image);
  // With groups, engine 1 for kernels' gradients leaves parts of the sums out (9.19, on an H100).
  if (c.direction == ConvDirection::kernel && c.in_per_group != c.in_channels)
    limits.refused_engine = 1;
  return GraphPlan::find(
      library, key_of(c, bias, limits.tensor_cores), [&] { return operations_of(c, *type, bias); },
      limits);
}

}  // namespace belfry::cuda
