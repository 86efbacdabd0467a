#include "belfry/framework/ops/ctc_rows.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/softmax_lines.h"

namespace belfry {
namespace {

void require_whole(std::string_view op, std::string_view operand, const TensorType& type) {
  require(type.dtype == DType::i64, op, ": ", operand, " must be i32 or i64, got ", type,
          "; cast them");
}

std::vector<TensorType> shape(const ShapeContext& c) {
  const TensorType &logits = c.inputs[0], &labels = c.inputs[1];
  require_floating(c.op, "logits", logits);
  require_rank(c.op, "logits", logits, 3, "[n, t, classes]");
  require_rank(c.op, "labels", labels, 2, "[n, l]");
  std::int64_t n = logits.shape[0], frames = logits.shape[1], classes = logits.shape[2];
  require(labels.shape[0] == n, c.op, ": labels ", labels, " must have a row for each of the ", n,
          " of logits ", logits);
  require_whole(c.op, "labels", labels);
  for (int i : {2, 3}) {
    std::string_view operand = i == 2 ? "logit_lengths" : "label_lengths";
    const TensorType& lengths = c.inputs[static_cast<std::size_t>(i)];
    require(lengths.shape == Shape{n}, c.op, ": ", operand, " must be [", n,
            "], one for each row of logits ", logits, ", got ", lengths);
    require_whole(c.op, operand, lengths);
  }
  std::int64_t blank = c.as<CtcOptions>().blank;
  require(blank >= 0 && blank < classes, c.op, ": blank ", blank, " is not a class of logits ",
          logits);
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
    double log_probability = ctc_forward<double>(
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

}  // namespace

const OpDef ctc_loss_op{
    .name = "ctc_loss", .shape = shape, .gradient = gradient, .reference = reference};

Tensor ctc_loss(Tensor logits, Tensor labels, Tensor logit_lengths, Tensor label_lengths,
                CtcOptions options) {
  for (Tensor* t : {&labels, &logit_lengths, &label_lengths})
    if (t->dtype() == DType::i32) *t = cast(*t, DType::i64);
  if (options.blank < 0 && logits.rank() == 3) options.blank += logits.size(2);
  return apply1(ctc_loss_op, {logits, labels, logit_lengths, label_lengths}, options);
}

}  // namespace belfry
