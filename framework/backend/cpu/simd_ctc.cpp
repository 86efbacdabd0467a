// The CTC loss and its gradient: rows of the batch shared among threads.

#include <cmath>

#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/simd_chunks.h"
#include "belfry/framework/backend/cpu/simd_loops.h"
#include "belfry/framework/graph/graph.h"
#include "belfry/framework/ops/ctc_rows.h"

namespace belfry::cpu {
namespace {

/// Operands of one row. Exponentials and logarithms are taken in f32, added up in double.
struct Row {
  const float* logits;
  double *log_sums, *alpha;
  std::int64_t frames, classes;
  double log_prob(std::int64_t t, std::int64_t k) const {
    return double{logits[t * classes + k]} - log_sums[t];
  }
};

class CtcKernel : public Kernel {
 public:
  CtcKernel(const Node& node, int logits, int threads)
      : batch_(CtcBatch::of(node.input(logits).shape(), node.input(logits + 1).shape(),
                            node.as<CtcOptions>())),
        loops_(simd().rows.f32),
        threads_(threads) {}
  std::string_view implementation() const override { return "simd"; }

 protected:
  template <class Body>
  void for_rows(const Body& body) const {
    constexpr std::int64_t softmax = 4, state = 40;  // costs beside that of an addition
    std::int64_t cost = batch_.frames * (softmax * batch_.classes + state * batch_.states());
    parallel_for(batch_.rows, rows_worth_sharing(cost), threads_,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) body(r);
                 });
  }
  Row row(const CtcBatch& batch, std::int64_t r, const void* logits, void* log_sums,
          void* alpha) const {
    std::int64_t first = r * batch.frames;
    return {static_cast<const float*>(logits) + first * batch.classes,
            static_cast<double*>(log_sums) + first,
            static_cast<double*>(alpha) + first * batch.states(), batch.frames_of(r),
            batch.classes};
  }

  CtcBatch batch_;
  const RowLoops<float>& loops_;
  int threads_;
};

class LossKernel final : public CtcKernel {
 public:
  LossKernel(const Node& node, int threads) : CtcKernel(node, 0, threads) {}

  void run(const KernelArguments& a, Stream&) override {
    CtcBatch batch = batch_.with(a.inputs[1], a.inputs[2], a.inputs[3]);
    check_ctc_batch("ctc_loss", batch);  // here: no exception leaves a parallel loop
    auto* loss = static_cast<float*>(a.outputs[0]);
    for_rows([&](std::int64_t r) {
      Row x = row(batch, r, a.inputs[0], a.outputs[1], a.outputs[2]);
      for (std::int64_t t = 0; t < x.frames; ++t) {
        const float* frame = x.logits + t * x.classes;
        float highest = loops_.max(frame, x.classes);
        x.log_sums[t] = double{highest} + std::log(loops_.exp_sum(frame, highest, x.classes));
      }
      double log_probability =
          ctc_forward<float>(batch.lattice(r), x.frames, batch.states(), x.alpha,
                             [&](std::int64_t t, std::int64_t k) { return x.log_prob(t, k); });
      loss[r] = static_cast<float>(batch.loss(log_probability));
    });
  }
};

/// The workspace holds what the recursion of each row needs.
class GradKernel final : public CtcKernel {
 public:
  GradKernel(const Node& node, int threads) : CtcKernel(node, 1, threads) {}

  Bytes workspace() const override {
    return Bytes(batch_.rows * 2 * batch_.states() * static_cast<std::int64_t>(sizeof(double)));
  }

  void run(const KernelArguments& a, Stream&) override {
    CtcBatch batch = batch_.with(a.inputs[2], a.inputs[3], a.inputs[4]);
    std::int64_t states = batch.states(), classes = batch.classes;
    for_rows([&](std::int64_t r) {
      Row x = row(batch, r, a.inputs[1], a.inputs[5], a.inputs[6]);
      CtcLattice lattice = batch.lattice(r);
      if (batch.is_zero(lattice.log_probability<float>(x.alpha, x.frames, states))) x.frames = 0;
      float dy = static_cast<const float*>(a.inputs[0])[r];
      float* dx = static_cast<float*>(a.outputs[0]) + r * batch.frames * classes;
      for (std::int64_t t = 0; t < x.frames; ++t) softmax_times(dy, x, t, dx + t * classes);
      std::fill(dx + x.frames * classes, dx + batch.frames * classes, 0.0f);
      ctc_backward<float>(
          lattice, x.frames, states, x.alpha, static_cast<double*>(a.workspace) + r * 2 * states,
          [&](std::int64_t t, std::int64_t k) { return x.log_prob(t, k); },
          [&](std::int64_t t, std::int64_t k, float p) { dx[t * classes + k] -= p * dy; });
    });
  }

 private:
  void softmax_times(float dy, const Row& x, std::int64_t t, float* dx) const {
    const float* frame = x.logits + t * x.classes;
    float highest = loops_.max(frame, x.classes);
    double share = std::exp(double{highest} - x.log_sums[t]);
    loops_.scaled_exp(frame, highest, static_cast<float>(share * double{dy}), dx, x.classes);
  }
};

template <class K, int Logits>
std::unique_ptr<Kernel> make(const Node& node, int threads) {
  if (node.input(Logits).dtype() != DType::f32) return nullptr;
  return std::make_unique<K>(node, threads);
}

const KernelRegistration loss(ctc_loss_op, make<LossKernel, 0>);
const KernelRegistration loss_grad(ctc_loss_grad_op, make<GradKernel, 1>);

}  // namespace
}  // namespace belfry::cpu
