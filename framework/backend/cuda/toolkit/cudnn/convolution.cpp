#include "belfry/framework/backend/cuda/toolkit/cudnn/convolution.h"

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

enum : std::int64_t { id_product = id_bias + 1, id_sum };  // in no memory

Descriptor description_of(const Convolution& c, cudnnDataType_t compute) {
  Descriptor d(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  d.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, compute)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION)
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, static_cast<std::int64_t>(c.in.size()))
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, c.stride)
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, c.dilation)
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, c.before)
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, c.after);
  return std::move(d).finalize();
}

/// Adds to = mode(from, [other]).
void add_pointwise(OperationGraph& graph, cudnnPointwiseMode_t mode, cudnnDataType_t compute,
                   const Descriptor& from, const Descriptor* other, const Descriptor& to) {
  Descriptor what(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  what.set(CUDNN_ATTR_POINTWISE_MODE, mode).set(CUDNN_ATTR_POINTWISE_MATH_PREC, compute);
  Descriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, graph.add(std::move(what).finalize()))
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, from)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, to);
  if (other) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *other);
  graph.add_operation(std::move(operation).finalize());
}

}  // namespace

Shape Convolution::image(std::int64_t first, const Sizes& sizes, std::int64_t last) {
  std::vector<std::int64_t> all{first};
  all.insert(all.end(), sizes.begin(), sizes.end());
  all.push_back(last);
  return Shape(all);
}

std::optional<GraphPlan> find_plan(const std::shared_ptr<CudnnHandle>& library,
                                   const Convolution& c, const Epilogue& fused, bool tf32) {
  auto type = cudnn_type(c.dtype);
  if (!type) return std::nullopt;
  cudnnDataType_t compute = c.dtype == DType::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  OperationGraph graph;
  GraphTensor result = channels_last(id_y, *type, c.y());
  const Descriptor& x = graph.add(channels_last(id_x, *type, c.x()));
  const Descriptor& w = graph.add(channels_last(id_w, *type, c.w()));
  const Descriptor& y = graph.add(result);
  result.intermediate = true;
  result.type = compute;
  auto intermediate = [&](std::int64_t id) -> const Descriptor& {
    result.id = id;
    return graph.add(result);
  };
  const Descriptor& product = fused.bias || fused.relu ? intermediate(id_product) : y;

  Names names = names_of(c.direction);
  Descriptor operation(names.operation);
  operation.set(names.description, graph.add(description_of(c, compute)))
      .set(names.x, x)
      .set(names.w, w)
      .set(names.y, product);
  if (c.dtype == DType::f64) {
    operation.set(names.alpha, 1.0).set(names.beta, 0.0);
  } else {
    operation.set(names.alpha, 1.0f).set(names.beta, 0.0f);
  }
  graph.add_operation(std::move(operation).finalize());
  const Descriptor& sum = fused.bias && fused.relu ? intermediate(id_sum)
                          : fused.bias             ? y
                                                   : product;
  if (fused.bias) {
    const Descriptor& bias = graph.add(channels_last(id_bias, *type, c.bias()));
    add_pointwise(graph, CUDNN_POINTWISE_ADD, compute, product, &bias, sum);
  }
  if (fused.relu) add_pointwise(graph, CUDNN_POINTWISE_RELU_FWD, compute, sum, nullptr, y);
  return GraphPlan::find(
      library, std::move(graph),
      {.tensor_cores = c.dtype != DType::f32 || tf32, .nan_stays_nan = fused.relu});
}

}  // namespace belfry::cuda
