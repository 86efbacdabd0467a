// The CTC loss and its gradient: rows of the batch shared among threads, the states of a row in
// vectors.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/simd_chunks.h"
#include "belfry/framework/backend/cpu/simd_loops.h"
#include "belfry/framework/graph/graph.h"
#include "belfry/framework/ops/sequence/ctc_rows.h"

namespace belfry::cpu {
namespace {

/// The recursions of one row work on a piece of the workspace: vectors over its states,
/// filled up to whole ones with states that no path comes to. Around them is room, for what a
/// recursion reads beside the first state or the last.
class States {
 public:
  /// The size of a piece for rows of up to `most` states.
  static std::int64_t bytes(std::int64_t most) {
    return vectors * stride(most) * std::int64_t{sizeof(double)};
  }

  States(void* piece, std::int64_t most, const CtcLattice& lattice)
      : count_(lattice.states()), stride_(stride(most)), piece_(static_cast<double*>(piece)) {
    std::fill_n(piece_, 4 * stride_, ctc_impossible);
    std::fill_n(logits(), padded(most), -std::numeric_limits<float>::infinity());
    for (std::int64_t s = 0; s < count_; ++s) {
      if (lattice.is_skipped_to(s)) vector<double>(0)[s] = 0;
      vector<std::int64_t>(6)[s] = lattice.symbol(s);
    }
  }

  std::int64_t count() const { return count_; }
  std::int64_t padded_count() const { return padded(count_); }
  const double* skip() const { return vector<double>(0); }
  /// Log alpha or beta of a frame, -inf at first. Frames t and t + 2 share one.
  double* frame(std::int64_t t) const { return vector<double>(1 + (t & 1)); }
  double* alpha() const { return vector<double>(3); }
  float* logits() const { return vector<float>(4); }
  float* occupied() const { return vector<float>(5); }
  const std::int64_t* symbols() const { return vector<std::int64_t>(6); }

  /// Gives each state the logit of its symbol.
  void read_logits(const float* of_classes) const {
    float* out = logits();
    const std::int64_t* from = symbols();
    for (std::int64_t s = 0; s < count_; ++s) out[s] = of_classes[from[s]];
  }

 private:
  static constexpr std::int64_t lanes = 16, vectors = 7;

  static std::int64_t padded(std::int64_t states) { return (states + lanes - 1) / lanes * lanes; }
  static std::int64_t stride(std::int64_t most) { return padded(most) + 2 * lanes; }
  template <class T>
  T* vector(std::int64_t i) const {
    return reinterpret_cast<T*>(piece_ + i * stride_) + lanes;
  }

  std::int64_t count_, stride_;
  double* piece_;
};

/// Operands of one row. Exponentials and logarithms are taken in f32, added up in double.
struct Row {
  const float* logits;
  double *log_sums, *alpha;
  std::int64_t frames, classes;
};

class CtcKernel : public Kernel {
 public:
  CtcKernel(const Node& node, int logits, int threads)
      : batch_(CtcBatch::of(node.input(logits).shape(), node.input(logits + 1).shape(),
                            node.as<CtcOptions>())),
        rows_(simd().rows.f32),
        loops_(simd().ctc),
        threads_(threads) {}
  std::string_view implementation() const override { return "simd"; }
  Bytes workspace() const override { return Bytes(batch_.rows * States::bytes(batch_.states())); }

 protected:
  template <class Body>
  void for_rows(const Body& body) const {
    constexpr std::int64_t softmax = 4, state = 10;  // costs beside that of an addition
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
  States states(const CtcBatch& batch, std::int64_t r, void* workspace) const {
    auto* piece = static_cast<std::byte*>(workspace) + r * States::bytes(batch.states());
    return {piece, batch.states(), batch.lattice(r)};
  }

  CtcBatch batch_;
  const RowLoops<float>& rows_;
  const CtcLoops& loops_;
  int threads_;
};

class LossKernel final : public CtcKernel {
 public:
  LossKernel(const Node& node, int threads) : CtcKernel(node, 0, threads) {}

  void run(const KernelArguments& a, Stream&) override {
    CtcBatch batch = batch_.with(a.inputs[1], a.inputs[2], a.inputs[3]);
    check_ctc_batch("ctc_loss", batch);  // here: no exception leaves a parallel loop
    auto* loss = a.output<float>(0);
    for_rows([&](std::int64_t r) {
      Row x = row(batch, r, a.inputs[0], a.outputs[1], a.outputs[2]);
      States states = this->states(batch, r, a.workspace);
      states.frame(-1)[0] = 0;  // from here a path comes to the first two states
      for (std::int64_t t = 0; t < x.frames; ++t) {
        const float* frame = x.logits + t * x.classes;
        float highest = rows_.max(frame, x.classes);
        x.log_sums[t] = double{highest} + std::log(rows_.exp_sum(frame, highest, x.classes));
        states.read_logits(frame);
        loops_.forward(states.frame(t - 1), states.skip(), states.logits(), x.log_sums[t],
                       states.frame(t), states.padded_count());
        std::copy_n(states.frame(t), states.count(), x.alpha + t * batch.states());
      }
      double log_probability =
          batch.lattice(r).log_probability<float>(x.alpha, x.frames, batch.states());
      loss[r] = static_cast<float>(batch.loss(log_probability));
    });
  }
};

class GradKernel final : public CtcKernel {
 public:
  GradKernel(const Node& node, int threads) : CtcKernel(node, 1, threads) {}

  void run(const KernelArguments& a, Stream&) override {
    CtcBatch batch = batch_.with(a.inputs[2], a.inputs[3], a.inputs[4]);
    std::int64_t classes = batch.classes;
    for_rows([&](std::int64_t r) {
      Row x = row(batch, r, a.inputs[1], a.inputs[5], a.inputs[6]);
      double total = batch.lattice(r).log_probability<float>(x.alpha, x.frames, batch.states());
      if (batch.is_zero(total)) x.frames = 0;
      float dy = a.input<float>(0)[r];
      float* dx = a.output<float>(0) + r * batch.frames * classes;
      std::fill(dx + x.frames * classes, dx + batch.frames * classes, 0.0f);
      States states = this->states(batch, r, a.workspace);
      states.frame(x.frames)[states.count() - 1] = 0;  // to here a path goes from the last two
      for (std::int64_t t = x.frames - 1; t >= 0; --t) {
        loops_.softmax(x.logits + t * classes, x.log_sums[t], dy, dx + t * classes, classes);
        states.read_logits(x.logits + t * classes);
        std::copy_n(x.alpha + t * batch.states(), states.count(), states.alpha());
        float blanks = loops_.backward(states.frame(t + 1), states.skip(), states.logits(),
                                       x.log_sums[t], states.alpha(), total, states.frame(t),
                                       states.occupied(), states.padded_count());
        dx[t * classes + batch.blank] -= blanks * dy;
        for (std::int64_t s = 1; s < states.count(); s += 2)
          dx[t * classes + states.symbols()[s]] -= states.occupied()[s] * dy;
      }
    });
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
