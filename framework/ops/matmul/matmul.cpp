#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "belfry/framework/ops/nn.h"
#include "belfry/framework/ops/reduction/reduction.h"

namespace belfry {
namespace {

Shape leading(const Shape& shape) { return Shape(shape.sizes().first(shape.rank() - 2)); }

/// The last two axes of an operand as rows and columns, transposed when asked.
struct Matrix {
  std::int64_t rows, columns, row_stride, column_stride;

  Matrix(const Shape& shape, bool transposed)
      : rows(shape[shape.rank() - 2]),
        columns(shape[shape.rank() - 1]),
        row_stride(columns),
        column_stride(1) {
    if (transposed) std::swap(rows, columns), std::swap(row_stride, column_stride);
  }
  std::int64_t elements() const { return rows * columns; }
};

std::vector<TensorType> shape_rule(const ShapeContext& c) {
  const TensorType &a = c.inputs[0], &b = c.inputs[1];
  const auto& node = c.as<MatmulNodeOptions>();
  const MatmulOptions& o = node.product;
  ensure(c.inputs.size() == (node.bias ? 3 : 2), c.op, ": ", c.inputs.size(), " inputs");
  require(a.dtype == b.dtype, c.op, ": ", a, " and ", b,
          " have different dtypes; cast one of them");
  require(in_domain(a.dtype, Domain::number), c.op, ": expected a number type, got ", a,
          "; cast it first");
  require(a.shape.rank() >= 2 && b.shape.rank() >= 2, c.op, ": expected matrices, got ", a, " and ",
          b, "; reshape vectors to rank 2");
  Matrix left(a.shape, o.transpose_a), right(b.shape, o.transpose_b);
  require(left.columns == right.rows, c.op, ": ", a.shape, o.transpose_a ? " transposed" : "",
          " has ", left.columns, " columns but ", b.shape, o.transpose_b ? " transposed" : "",
          " has ", right.rows, " rows");
  Shape batch = broadcast(leading(a.shape), leading(b.shape), c.op);
  std::vector<std::int64_t> sizes(batch.begin(), batch.end());
  sizes.insert(sizes.end(), {left.rows, right.columns});
  if (node.bias) {
    TensorType bias{Shape{right.columns}, a.dtype};
    require(c.inputs[2] == bias, c.op, ": bias must be ", bias, ", got ", c.inputs[2]);
  }
  return {{Shape(sizes), a.dtype}};
}

// With A and B the matrices as multiplied: dA = dY B', dB = A' dY, each transposed back where the
// operand was stored transposed.
std::vector<Tensor> gradient(const GradContext& c) {
  const auto& o = c.as<MatmulNodeOptions>();
  auto [ta, tb] = o.product;
  Tensor a = c.input(0), b = c.input(1), dy = c.dy();
  if (o.activation == Activation::relu) dy = relu_grad(dy, c.output());
  // dB, which reads a, comes first: the memory of a, most often the larger one, is free for dA.
  Tensor db = tb ? matmul(dy, a, {.transpose_a = true, .transpose_b = ta})
                 : matmul(a, dy, {.transpose_a = !ta, .transpose_b = false});
  db = sum_to(db, b.shape());
  Tensor dbias = o.bias ? sum_to(dy, c.input(2).shape()) : Tensor();
  Tensor da = ta ? matmul(b, dy, {.transpose_a = tb, .transpose_b = true})
                 : matmul(dy, b, {.transpose_a = false, .transpose_b = !tb});
  std::vector<Tensor> grads = {sum_to(da, a.shape()), db};
  if (o.bias) grads.push_back(dbias);
  return grads;
}

template <class T>
struct Product {
  using Sum = WideAccumulator<T>;
  const T* bias = nullptr;  // [n], or null
  bool relu = false;

  static Sum value(T x) { return static_cast<Sum>(static_cast<compute_type<T>>(x)); }

  void operator()(const T* a, const Matrix& left, const T* b, const Matrix& right, T* y) const {
    for (std::int64_t i = 0; i < left.rows; ++i) {
      for (std::int64_t j = 0; j < right.columns; ++j) {
        Sum total = bias ? value(bias[j]) : Sum(0);
        for (std::int64_t k = 0; k < left.columns; ++k)
          total += value(a[i * left.row_stride + k * left.column_stride])
                   * value(b[k * right.row_stride + j * right.column_stride]);
        auto result = static_cast<compute_type<T>>(total);
        *y++ = static_cast<T>(relu ? functor::Relu::apply<StdMath>(result) : result);
      }
    }
  }
};

void reference(const KernelContext& c) {
  const auto& o = c.as<MatmulNodeOptions>();
  const Shape &a = c.input(0).shape(), &b = c.input(1).shape();
  Matrix left(a, o.product.transpose_a), right(b, o.product.transpose_b);
  Shape batch = leading(c.output().shape());
  dispatch(c.output().dtype(), [&](auto t) {
    using T = decltype(t);
    Product<T> multiply{.bias = o.bias ? c.input(2).as<const T>() : nullptr,
                        .relu = o.activation == Activation::relu};
    T* y = c.output().as<T>();
    strided_walk<2>(batch,
                    {broadcast_strides(leading(a), batch), broadcast_strides(leading(b), batch)},
                    [&](const auto& at) {
                      multiply(c.input(0).as<const T>() + at[0] * left.elements(), left,
                               c.input(1).as<const T>() + at[1] * right.elements(), right, y);
                      y += left.rows * right.columns;
                    });
  });
}

double flops(const Node& node) {
  Matrix left(node.input(0).shape(), node.as<MatmulNodeOptions>().product.transpose_a);
  return 2.0 * node.output().shape.elements() * left.columns;
}

}  // namespace

const OpDef matmul_op{.name = "matmul",
                      .shape = shape_rule,
                      .gradient = gradient,
                      .reference = reference,
                      .autocast = Autocast::low,
                      .flops = flops};

Tensor matmul(Tensor a, Tensor b, MatmulOptions options) {
  require_defined("matmul", {a, b});
  // Many matrices times one are one tall matrix: a single product, in the gradient of b too.
  if (a.rank() > 2 && b.rank() == 2 && !options.transpose_a) {
    std::int64_t rows = 1;
    for (int axis = 0; axis + 1 < a.rank(); ++axis) rows *= a.size(axis);
    Tensor y = matmul(reshape(a, Shape{rows, a.size(-1)}), b, options);
    return reshape(y, a.shape().with(a.rank() - 1, y.size(1)));
  }
  return apply1(matmul_op, {a, b}, MatmulNodeOptions{.product = options});
}

}  // namespace belfry
