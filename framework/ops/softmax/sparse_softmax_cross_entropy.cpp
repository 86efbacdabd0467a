#include <cmath>

#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "belfry/framework/ops/softmax/softmax_lines.h"

namespace belfry {
namespace {

std::vector<TensorType> shape(const ShapeContext& c) {
  const TensorType &logits = c.inputs[0], &labels = c.inputs[1];
  double smoothing = c.as<CrossEntropyOptions>().label_smoothing;
  require_floating(c.op, "logits", logits);
  require_rank(c.op, "logits", logits, 2, "[n, classes]");
  require(logits.shape[1] >= 1, c.op, ": logits ", logits, " have no classes");
  require(labels.dtype == DType::i32 || labels.dtype == DType::i64, c.op,
          ": labels must be i32 or i64, got ", labels, "; cast them");
  require(labels.shape == Shape{logits.shape[0]}, c.op, ": labels must be [", logits.shape[0],
          "], one for each row of logits ", logits, ", got ", labels);
  require(smoothing >= 0 && smoothing <= 1, c.op, ": label smoothing must be in [0, 1], got ",
          smoothing);
  TensorType row{labels.shape, statistics_type(logits.dtype)};
  return {row, row};
}

std::vector<Tensor> gradient(const GradContext& c) {
  Tensor logits = c.input(0), log_sum = c.output(1);
  Tensor dlogits;
  if (c.dy(0).defined())
    dlogits = apply1(sparse_softmax_cross_entropy_grad_op, {c.dy(0), logits, c.input(1), log_sum},
                     c.as<CrossEntropyOptions>());
  if (c.dy(1).defined()) {
    // Only second derivatives come this way: the first reads log_sum.
    Shape column{logits.size(0), 1};
    Tensor p = exp(cast(logits, log_sum.dtype()) - reshape(log_sum, column));
    Tensor part = cast(p * reshape(c.dy(1), column), logits.dtype());
    dlogits = add_defined(dlogits, part);
  }
  return {dlogits, Tensor()};
}

/// -sum(target * log softmax(x)) with the target of one label; log_sum is log(sum(exp(x))).
template <class T>
double row_loss(const T* x, const Line& row, std::int64_t label, double log_sum, double smoothing) {
  double loss = (1 - smoothing) * (log_sum - load(x[row.at(label)]));
  if (smoothing == 0) return loss;  // leaves logits of minus infinity alone
  double rest = 0;
  for (std::int64_t i = 0; i < row.size; ++i) rest += log_sum - load(x[row.at(i)]);
  return loss + smoothing / row.size * rest;
}

template <class T, class Label>
void run(const KernelContext& c) {
  using S = std::conditional_t<std::is_same_v<T, double>, double, float>;
  double smoothing = c.as<CrossEntropyOptions>().label_smoothing;
  const T* logits = c.input(0).as<T>();
  const Label* labels = c.input(1).as<Label>();
  std::int64_t r = 0;
  for_each_line(c.input(0).shape(), 1, [&](const Line& row) {
    std::int64_t label = labels[r];
    require(label >= 0 && label < row.size, c.op, ": label ", label, " at row ", r,
            " is outside 0..", row.size - 1);
    double highest = line_max(logits, row);
    double log_sum = highest + std::log(line_exp_sum(logits, row, highest));
    c.output(0).as<S>()[r] = static_cast<S>(row_loss(logits, row, label, log_sum, smoothing));
    c.output(1).as<S>()[r] = static_cast<S>(log_sum);
    ++r;
  });
}

void reference(const KernelContext& c) {
  dispatch_floating(c.input(0).dtype(), c.op, [&](auto element) {
    using T = decltype(element);
    if (c.input(1).dtype() == DType::i32)
      run<T, std::int32_t>(c);
    else
      run<T, std::int64_t>(c);
  });
}

}  // namespace

const OpDef sparse_softmax_cross_entropy_def{.name = "sparse_softmax_cross_entropy",
                                             .shape = shape,
                                             .gradient = gradient,
                                             .reference = reference,
                                             .flops = softmax_flops};

Tensor sparse_softmax_cross_entropy_op(Tensor logits, Tensor labels, double label_smoothing) {
  return apply1(sparse_softmax_cross_entropy_def, {logits, labels},
                CrossEntropyOptions{.label_smoothing = label_smoothing});
}

}  // namespace belfry
