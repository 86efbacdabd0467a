#include <vector>

#include "belfry/framework/ops/nn_checks.h"
#include "belfry/framework/ops/sequence/ctc_rows.h"

namespace belfry {
namespace {

std::vector<TensorType> shape(const ShapeContext& c) {
  const TensorType &logits = c.inputs[1], &labels = c.inputs[2];
  require_floating(c.op, "logits", logits);
  require_rank(c.op, "logits", logits, 3, "[n, t, classes]");
  require_rank(c.op, "labels", labels, 2, "[n, l]");
  std::int64_t n = logits.shape[0], frames = logits.shape[1], max_length = labels.shape[1];
  require_type(c.op, "gradient of the loss", c.inputs[0], {{n}, statistics_type(logits.dtype)});
  require_type(c.op, "labels", labels, {{n, max_length}, DType::i64});
  require_type(c.op, "logit lengths", c.inputs[3], {{n}, DType::i64});
  require_type(c.op, "label lengths", c.inputs[4], {{n}, DType::i64});
  require_type(c.op, "logs of the sums of exponentials", c.inputs[5], {{n, frames}, DType::f64});
  require_type(c.op, "log alpha", c.inputs[6], {{n, frames, 2 * max_length + 1}, DType::f64});
  return {logits};
}

/// The gradient of one row, and zeros behind its length.
template <class T>
void run_row(const CtcBatch& batch, std::int64_t r, const T* logits, const double* log_sums,
             const double* alpha, double dy, T* dlogits) {
  CtcLattice lattice = batch.lattice(r);
  std::int64_t frames = batch.frames_of(r), classes = batch.classes, stride = batch.states();
  if (batch.is_zero(lattice.log_probability<double>(alpha, frames, stride))) frames = 0;
  auto log_prob = [&](std::int64_t t, std::int64_t k) {
    return load(logits[t * classes + k]) - log_sums[t];
  };
  std::vector<double> posteriors(frames * classes);
  std::vector<double> scratch(2 * stride);
  ctc_backward(lattice, frames, stride, alpha, scratch.data(), log_prob,
               [&](std::int64_t t, std::int64_t k, double p) { posteriors[t * classes + k] += p; });
  for (std::int64_t t = 0; t < frames; ++t)
    for (std::int64_t k = 0; k < classes; ++k)
      dlogits[t * classes + k] =
          store<T>((std::exp(log_prob(t, k)) - posteriors[t * classes + k]) * dy);
  std::fill(dlogits + frames * classes, dlogits + batch.frames * classes, T{});
}

template <class T>
void run(const KernelContext& c, const CtcBatch& batch) {
  using S = std::conditional_t<std::is_same_v<T, double>, double, float>;
  for (std::int64_t r = 0; r < batch.rows; ++r) {
    std::int64_t first = r * batch.frames, offset = first * batch.classes;
    run_row(batch, r, c.input(1).as<T>() + offset, c.input(5).as<double>() + first,
            c.input(6).as<double>() + first * batch.states(), double{c.input(0).as<S>()[r]},
            c.output().as<T>() + offset);
  }
}

void reference(const KernelContext& c) {
  CtcBatch batch = CtcBatch::of(c.input(1).shape(), c.input(2).shape(), c.as<CtcOptions>())
                       .with(c.input(2).data, c.input(3).data, c.input(4).data);
  dispatch_floating(c.input(1).dtype(), c.op, [&](auto t) { run<decltype(t)>(c, batch); });
}

}  // namespace

const OpDef ctc_loss_grad_op{.name = "ctc_loss_grad", .shape = shape, .reference = reference};

}  // namespace belfry
