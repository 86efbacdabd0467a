#include <cmath>

#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "belfry/framework/ops/softmax/softmax_lines.h"

namespace belfry {
namespace {

std::vector<TensorType> shape(const ShapeContext& c) {
  const TensorType& logits = c.inputs[1];
  require_floating(c.op, "logits", logits);
  require_rank(c.op, "logits", logits, 2, "[n, classes]");
  TensorType row{{logits.shape[0]}, statistics_type(logits.dtype)};
  require_type(c.op, "gradient of the loss", c.inputs[0], row);
  require_type(c.op, "labels", c.inputs[2], {row.shape, c.inputs[2].dtype});
  require_type(c.op, "log of the sum of exponentials", c.inputs[3], row);
  return {logits};
}

/// (softmax(logits) - target) dy
std::vector<Tensor> compose(const GradContext& c, std::span<const Tensor> inputs) {
  Tensor dy = inputs[0], logits = inputs[1], labels = inputs[2], log_sum = inputs[3];
  double smoothing = c.as<CrossEntropyOptions>().label_smoothing;
  std::int64_t classes = logits.size(1);
  Shape column{logits.size(0), 1};
  double rest = smoothing / classes;
  Tensor target = one_hot(
      labels,
      {.depth = classes, .on = 1 - smoothing + rest, .off = rest, .dtype = log_sum.dtype()});
  Tensor p = exp(cast(logits, log_sum.dtype()) - reshape(log_sum, column));
  return {cast((p - target) * reshape(dy, column), logits.dtype())};
}

std::vector<Tensor> gradient(const GradContext& c) { return composed_gradient(c, compose); }

template <class T, class Label>
void run(const KernelContext& c) {
  using S = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const S *dy = c.input(0).as<S>(), *log_sums = c.input(3).as<S>();
  const T* logits = c.input(1).as<T>();
  const Label* labels = c.input(2).as<Label>();
  T* dlogits = c.output().as<T>();
  std::int64_t n = c.output().shape()[0], classes = c.output().shape()[1];
  double smoothing = c.as<CrossEntropyOptions>().label_smoothing;
  for (std::int64_t r = 0; r < n; ++r)
    for (std::int64_t k = 0; k < classes; ++k) {
      double p = std::exp(load(*logits++) - double{log_sums[r]});
      double target = (labels[r] == k ? 1 - smoothing : 0) + smoothing / classes;
      *dlogits++ = store<T>((p - target) * double{dy[r]});
    }
}

void reference(const KernelContext& c) {
  dispatch_floating(c.input(1).dtype(), c.op, [&](auto element) {
    using T = decltype(element);
    if (c.input(2).dtype() == DType::i32)
      run<T, std::int32_t>(c);
    else
      run<T, std::int64_t>(c);
  });
}

}  // namespace

const OpDef sparse_softmax_cross_entropy_grad_op{.name = "sparse_softmax_cross_entropy_grad",
                                                 .shape = shape,
                                                 .gradient = gradient,
                                                 .reference = reference};

}  // namespace belfry
