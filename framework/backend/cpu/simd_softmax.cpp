// Softmax and what is made of it, over the last axis: a row at a time, in cache.

#include <cmath>

#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/simd_chunks.h"
#include "belfry/framework/backend/cpu/simd_convert.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry::cpu {
namespace {

/// Rows of k logits.
template <class T>
class RowKernel : public Kernel {
 public:
  RowKernel(const Shape& logits, int threads)
      : loops_(simd().rows.of<T>()), threads_(threads), k_(logits[logits.rank() - 1]) {
    rows_ = k_ > 0 ? logits.elements() / k_ : 0;
  }
  std::string_view implementation() const override { return "simd"; }

 protected:
  template <class Body>
  void for_rows(const Body& body) const {
    constexpr std::int64_t cost = 4;  // an exponential beside an addition
    parallel_for(rows_, rows_worth_sharing(k_ * cost), threads_,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) body(r);
                 });
  }

  const RowLoops<T>& loops_;
  int threads_;
  std::int64_t k_, rows_ = 0;
};

template <class T>
class SoftmaxKernel final : public RowKernel<T> {
  using RowKernel<T>::k_, RowKernel<T>::loops_, RowKernel<T>::for_rows;

 public:
  SoftmaxKernel(const Shape& x, bool log, int threads) : RowKernel<T>(x, threads), log_(log) {}

  void run(const KernelArguments& a, Stream&) override {
    for_rows([&](std::int64_t r) {
      const T* x = a.input<T>(0) + r * k_;
      T* y = a.output<T>(0) + r * k_;
      float highest = loops_.max(x, k_);
      double sum = loops_.exp_sum(x, highest, k_);
      if (log_)
        loops_.subtract(x, highest, static_cast<float>(std::log(sum)), y, k_);
      else
        loops_.scaled_exp(x, highest, static_cast<float>(1 / sum), y, k_);
    });
  }

 private:
  bool log_;
};

/// Reads labels of either type.
class Labels {
 public:
  Labels(DType dtype, const void* data) : wide_(dtype == DType::i64), data_(data) {}
  std::int64_t operator[](std::int64_t i) const {
    return wide_ ? static_cast<const std::int64_t*>(data_)[i]
                 : static_cast<const std::int32_t*>(data_)[i];
  }

 private:
  bool wide_;
  const void* data_;
};

template <class T>
class CrossEntropyKernel final : public RowKernel<T> {
  using RowKernel<T>::k_, RowKernel<T>::loops_, RowKernel<T>::rows_, RowKernel<T>::for_rows;

 public:
  CrossEntropyKernel(const Node& node, int threads)
      : RowKernel<T>(node.input(0).shape(), threads),
        smoothing_(node.as<CrossEntropyOptions>().label_smoothing),
        label_type_(node.input(1).dtype()) {}

  void run(const KernelArguments& a, Stream&) override {
    Labels labels(label_type_, a.inputs[1]);
    for (std::int64_t r = 0; r < rows_; ++r)  // here: no exception leaves a parallel loop
      require(labels[r] >= 0 && labels[r] < k_, "sparse_softmax_cross_entropy: label ", labels[r],
              " at row ", r, " is outside 0..", k_ - 1);
    auto *loss = a.output<float>(0), *log_sums = a.output<float>(1);
    for_rows([&](std::int64_t r) {
      const T* x = a.input<T>(0) + r * k_;
      float highest = loops_.max(x, k_);
      double log_sum = double{highest} + std::log(loops_.exp_sum(x, highest, k_));
      double value = (1 - smoothing_) * (log_sum - double{static_cast<float>(x[labels[r]])});
      if (smoothing_ != 0)
        value += smoothing_ * (log_sum - loops_.sum(x, k_) / static_cast<double>(k_));
      loss[r] = static_cast<float>(value);
      log_sums[r] = static_cast<float>(log_sum);
    });
  }

 private:
  double smoothing_;
  DType label_type_;
};

template <class T>
class CrossEntropyGradKernel final : public RowKernel<T> {
  using RowKernel<T>::k_, RowKernel<T>::loops_, RowKernel<T>::for_rows;

 public:
  CrossEntropyGradKernel(const Node& node, int threads)
      : RowKernel<T>(node.input(1).shape(), threads),
        smoothing_(node.as<CrossEntropyOptions>().label_smoothing),
        label_type_(node.input(2).dtype()) {}

  void run(const KernelArguments& a, Stream&) override {
    Labels labels(label_type_, a.inputs[2]);
    const auto *dy = a.input<float>(0), *log_sums = a.input<float>(3);
    auto rest = static_cast<float>(smoothing_ / static_cast<double>(k_));
    for_rows([&](std::int64_t r) {
      const T* x = a.input<T>(1) + r * k_;
      T* dx = a.output<T>(0) + r * k_;
      std::int64_t label = labels[r];
      bool inside = label >= 0 && label < k_;
      loops_.cross_entropy_gradient(x, log_sums[r], rest, dy[r], dx, k_);
      float fraction = static_cast<float>(1 - smoothing_);
      if (!inside) return;
      if constexpr (std::is_same_v<T, float>)
        dx[label] -= fraction * dy[r];
      else  // not from what was rounded: the two are nearly equal where the prediction is right
        dx[label] = static_cast<T>(
            (std::exp(static_cast<float>(x[label]) - log_sums[r]) - rest - fraction) * dy[r]);
    });
  }

 private:
  double smoothing_;
  DType label_type_;
};

std::unique_ptr<Kernel> make_softmax(const Node& node, int threads) {
  const Tensor& x = node.input(0);
  if (node.as<AxisOptions>().axis != x.rank() - 1) return nullptr;
  return kernel_for_type(x.dtype(), [&](auto t) {
    return std::make_unique<SoftmaxKernel<decltype(t)>>(x.shape(), node.is(log_softmax_op),
                                                        threads);
  });
}

template <template <class> class K, int Logits>
std::unique_ptr<Kernel> make(const Node& node, int threads) {
  return kernel_for_type(node.input(Logits).dtype(),
                         [&](auto t) { return std::make_unique<K<decltype(t)>>(node, threads); });
}

const KernelRegistration softmax_registration(softmax_op, make_softmax);
const KernelRegistration log_softmax_registration(log_softmax_op, make_softmax);
const KernelRegistration loss(sparse_softmax_cross_entropy_def, make<CrossEntropyKernel, 0>);
const KernelRegistration loss_grad(sparse_softmax_cross_entropy_grad_op,
                                   make<CrossEntropyGradKernel, 1>);

}  // namespace
}  // namespace belfry::cpu
