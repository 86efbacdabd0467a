// matmul of every type: fallback of toolkit/matmul.cpp and its oracle.

#include <tuple>

#include "belfry/framework/backend/cuda/kernels/convolution/product.h"
#include "belfry/framework/backend/cuda/kernels/layout.h"
#include "belfry/framework/ops/defs.h"

namespace belfry::cuda {
namespace {

/// One factor: matrices whose element (line, k) is at line * line_stride + k * k_stride.
template <class T>
struct Factor {
  struct Line {
    const T* at;
  };
  const T* data;
  std::int64_t line_stride, k_stride, matrix;  // elements
  Layout<1> batches;                           // the matrix of a batch
  bool k_innermost;

  __device__ Line line(std::int64_t batch, std::int64_t i) const {
    std::int64_t number[1];
    batches.offsets(batch, number);
    return {data + number[0] * matrix + i * line_stride};
  }
  __device__ SumOf<T> at(const Line& line, std::int64_t k) const {
    return static_cast<SumOf<T>>(load(line.at + k * k_stride));
  }
};

/// A factor that is stored with k as its last axis, or as its last but one.
template <class T>
Factor<T> factor(const Shape& shape, bool k_last, const Shape& batch) {
  std::int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
  return {.data = nullptr,
          .line_stride = k_last ? columns : 1,
          .k_stride = k_last ? 1 : columns,
          .matrix = rows * columns,
          .batches = make_layout<1>(batch, {broadcast_strides(leading(shape), batch)}),
          .k_innermost = k_last};
}

template <class T>
std::unique_ptr<Kernel> product_of(const Node& node) {
  const auto& o = node.as<MatmulNodeOptions>();
  const Shape &a = node.input(0).shape(), &b = node.input(1).shape(), &y = node.output().shape;
  bool ta = o.product.transpose_a, tb = o.product.transpose_b;
  Shape batch = leading(y);
  std::int64_t m = y[y.rank() - 2], n = y[y.rank() - 1];
  std::int64_t k = a[a.rank() - (ta ? 2 : 1)];
  Factor<T> left = factor<T>(a, !ta, batch), right = factor<T>(b, tb, batch);
  ProductOutput<T> output{
      .batch_stride = m * n, .row_stride = n, .relu = o.activation == Activation::relu};
  bool bias = o.bias;
  return make_product<T>({.batches = batch.elements(), .m = m, .n = n, .k = k},
                         [=](const KernelArguments& arguments) {
                           auto operands = std::tuple(left, right, output);
                           auto& [l, r, out] = operands;
                           l.data = arguments.input<T>(0);
                           r.data = arguments.input<T>(1);
                           out.y = arguments.output<T>(0);
                           if (bias) out.bias = arguments.input<T>(2);
                           return operands;
                         });
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  return dispatch(node.output().dtype, [&](auto t) -> std::unique_ptr<Kernel> {
    if constexpr (std::is_same_v<decltype(t), bool>) {
      return nullptr;
    } else {
      return product_of<decltype(t)>(node);
    }
  });
}

const KernelRegistration registration(matmul_op, make);

}  // namespace
}  // namespace belfry::cuda
