// Layer normalisation, a row at a time.

#include <cmath>

#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/simd_chunks.h"
#include "belfry/framework/backend/cpu/simd_convert.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry::cpu {
namespace {

template <class T>
class LayerNormKernel final : public Kernel {
 public:
  LayerNormKernel(const Node& node, int threads)
      : loops_(simd().rows.of<T>()),
        threads_(threads),
        c_(node.input(1).shape()[0]),
        rows_(node.output(1).shape.elements()),
        epsilon_(node.as<LayerNormOptions>().epsilon) {}

  std::string_view implementation() const override { return "simd"; }

  void run(const KernelArguments& a, Stream&) override {
    const auto *scale = a.input<float>(1), *offset = a.input<float>(2);
    auto *means = a.output<float>(1), *inverses = a.output<float>(2);
    double n = c_;
    parallel_for(
        rows_, rows_worth_sharing(c_), threads_, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t r = begin; r < end; ++r) {
            const T* x = a.input<T>(0) + r * c_;
            double mean = loops_.sum(x, c_) / n;
            means[r] = static_cast<float>(mean);
            double off = mean - double{means[r]};
            double variance = std::max(loops_.squares(x, means[r], c_) / n - off * off, 0.0);
            inverses[r] = static_cast<float>(1 / std::sqrt(variance + epsilon_));
            loops_.normalize(x, means[r], inverses[r], scale, offset, a.output<T>(0) + r * c_, c_);
          }
        });
  }

 private:
  const RowLoops<T>& loops_;
  int threads_;
  std::int64_t c_, rows_;
  double epsilon_;
};

/// The workspace holds the sums of dscale and doffset of each chunk of rows.
template <class T>
class LayerNormGradKernel final : public Kernel {
 public:
  LayerNormGradKernel(const Node& node, int threads)
      : loops_(simd().rows.of<T>()),
        threads_(threads),
        c_(node.input(2).shape()[0]),
        chunks_(node.input(3).shape().elements(), c_) {}

  std::string_view implementation() const override { return "simd"; }
  Bytes workspace() const override {
    return Bytes(2 * c_ * chunks_.count() * std::int64_t{sizeof(double)});
  }

  void run(const KernelArguments& a, Stream&) override {
    auto* sums = a.scratch<double>();
    chunks_.for_each(threads_, [&](std::int64_t k) {
      double* own = sums + 2 * c_ * k;
      std::fill_n(own, 2 * c_, 0.0);
      for (std::int64_t r = chunks_.begin(k); r < chunks_.begin(k) + chunks_.size(k); ++r)
        run_row(a, r, own, own + c_);
    });
    for (std::int64_t k = 1; k < chunks_.count(); ++k)
      for (std::int64_t j = 0; j < 2 * c_; ++j) sums[j] += sums[2 * c_ * k + j];
    for (std::int64_t j = 0; j < c_; ++j) {
      a.output<float>(1)[j] = static_cast<float>(sums[j]);
      a.output<float>(2)[j] = static_cast<float>(sums[c_ + j]);
    }
  }

 private:
  /// The sums before dx, which may take the place of dy.
  void run_row(const KernelArguments& a, std::int64_t r, double* dscale, double* doffset) const {
    const T *dy = a.input<T>(0) + r * c_, *x = a.input<T>(1) + r * c_;
    const auto* scale = a.input<float>(2);
    float mean = a.input<float>(3)[r];
    double inverse = double{a.input<float>(4)[r]};
    loops_.normalize_parameters(dy, x, mean, static_cast<float>(inverse), dscale, doffset, c_);
    double sum = 0, product = 0;
    loops_.normalize_sums(dy, x, scale, mean, c_, &sum, &product);
    double n = c_;
    loops_.normalize_gradient(dy, x, scale, mean, static_cast<float>(inverse),
                              static_cast<float>(inverse * inverse * inverse * product / n),
                              static_cast<float>(inverse * sum / n), a.output<T>(0) + r * c_, c_);
  }

  const RowLoops<T>& loops_;
  int threads_;
  std::int64_t c_;
  RowChunks chunks_;
};

template <template <class> class K, int X>
std::unique_ptr<Kernel> make(const Node& node, int threads) {
  return kernel_for_type(node.input(X).dtype(),
                         [&](auto t) { return std::make_unique<K<decltype(t)>>(node, threads); });
}

const KernelRegistration forward(layer_norm_op, make<LayerNormKernel, 0>);
const KernelRegistration backward(layer_norm_grad_op, make<LayerNormGradKernel, 1>);

}  // namespace
}  // namespace belfry::cpu
