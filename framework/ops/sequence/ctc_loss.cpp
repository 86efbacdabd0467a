#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/sequence/ctc_rows.h"
#include "belfry/framework/ops/softmax/softmax_lines.h"

namespace belfry {
namespace {

std::vector<TensorType> shape(const ShapeContext& c) {
  check_ctc_types(c.op, c.inputs, c.as<CtcOptions>().blank);
  const TensorType &logits = c.inputs[0], &labels = c.inputs[1];
  std::int64_t n = logits.shape[0], frames = logits.shape[1];
  return {{{n}, statistics_type(logits.dtype)},
          {{n, frames}, DType::f64},
          {{n, frames, 2 * labels.shape[1] + 1}, DType::f64}};
}

std::vector<Tensor> gradient(const GradContext& c) {
  Tensor dlogits =
      apply1(ctc_loss_grad_op,
             {c.dy(0), c.input(0), c.input(1), c.input(2), c.input(3), c.output(1), c.output(2)},
             c.as<CtcOptions>());
  return {dlogits, Tensor(), Tensor(), Tensor()};
}

template <class T>
void run(const KernelContext& c, const CtcBatch& batch) {
  using S = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const T* logits = c.input(0).as<T>();
  for (std::int64_t r = 0; r < batch.rows; ++r) {
    std::int64_t first = r * batch.frames, frames = batch.frames_of(r);
    double* log_sums = c.output(1).as<double>() + first;
    for (std::int64_t t = 0; t < frames; ++t) {
      Line frame{(first + t) * batch.classes, 1, batch.classes};
      double highest = line_max(logits, frame);
      log_sums[t] = highest + std::log(line_exp_sum(logits, frame, highest));
    }
    double log_probability = ctc_forward(
        batch.lattice(r), frames, batch.states(), c.output(2).as<double>() + first * batch.states(),
        [&](std::int64_t t, std::int64_t k) {
          return load(logits[(first + t) * batch.classes + k]) - log_sums[t];
        });
    c.output(0).as<S>()[r] = static_cast<S>(batch.loss(log_probability));
  }
}

void reference(const KernelContext& c) {
  CtcBatch batch = CtcBatch::of(c.input(0).shape(), c.input(1).shape(), c.as<CtcOptions>())
                       .with(c.input(1).data, c.input(2).data, c.input(3).data);
  check_ctc_batch(c.op, batch);
  dispatch_floating(c.input(0).dtype(), c.op, [&](auto t) { run<decltype(t)>(c, batch); });
}

// As if no row were shorter: softmax, and in each state of a frame the logarithm of the sum of
// three exponentials, of which each counts as an element of a softmax.
double flops(const Node& node) {
  return softmax_flops(node) + 5.0 * 3 * node.output(2).shape.elements();
}

}  // namespace

const OpDef ctc_loss_op{.name = "ctc_loss",
                        .shape = shape,
                        .gradient = gradient,
                        .reference = reference,
                        .flops = flops};

Tensor ctc_loss(Tensor logits, Tensor labels, Tensor logit_lengths, Tensor label_lengths,
                CtcOptions options) {
  check_ctc_operands("ctc_loss", {logits, labels, logit_lengths, label_lengths}, options.blank);
  for (Tensor* t : {&labels, &logit_lengths, &label_lengths}) *t = cast(*t, DType::i64);
  if (options.blank < 0) options.blank += logits.size(2);
  return apply1(ctc_loss_op, {logits, labels, logit_lengths, label_lengths}, options);
}

}  // namespace belfry
