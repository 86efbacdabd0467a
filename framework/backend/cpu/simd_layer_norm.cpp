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
    const auto *scale = static_cast<const float*>(a.inputs[1]),
               *offset = static_cast<const float*>(a.inputs[2]);
    auto *means = static_cast<float*>(a.outputs[1]), *inverses = static_cast<float*>(a.outputs[2]);
    auto n = static_cast<double>(c_);
    parallel_for(
        rows_, rows_worth_sharing(c_), threads_, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t r = begin; r < end; ++r) {
            const T* x = static_cast<const T*>(a.inputs[0]) + r * c_;
            double mean = loops_.sum(x, c_) / n;
            means[r] = static_cast<float>(mean);
            double off = mean - double{means[r]};
            double variance = std::max(loops_.squares(x, means[r], c_) / n - off * off, 0.0);
            inverses[r] = static_cast<float>(1 / std::sqrt(variance + epsilon_));
            loops_.normalize(x, means[r], inverses[r], scale, offset,
                             static_cast<T*>(a.outputs[0]) + r * c_, c_);
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
    auto* sums = static_cast<double*>(a.workspace);
    chunks_.for_each(threads_, [&](std::int64_t k) {
      double* own = sums + 2 * c_ * k;
      std::fill_n(own, 2 * c_, 0.0);
      for (std::int64_t r = chunks_.begin(k); r < chunks_.begin(k) + chunks_.size(k); ++r)
        run_row(a, r, own, own + c_);
    });
    for (std::int64_t k = 1; k < chunks_.count(); ++k)
      for (std::int64_t j = 0; j < 2 * c_; ++j) sums[j] += sums[2 * c_ * k + j];
    for (std::int64_t j = 0; j < c_; ++j) {
      static_cast<float*>(a.outputs[1])[j] = static_cast<float>(sums[j]);
      static_cast<float*>(a.outputs[2])[j] = static_cast<float>(sums[c_ + j]);
    }
  }

 private:
  /// The sums before dx, which may take the place of dy.
  void run_row(const KernelArguments& a, std::int64_t r, double* dscale, double* doffset) const {
    const T *dy = static_cast<const T*>(a.inputs[0]) + r * c_,
            *x = static_cast<const T*>(a.inputs[1]) + r * c_;
    const auto* scale = static_cast<const float*>(a.inputs[2]);
    float mean = static_cast<const float*>(a.inputs[3])[r];
    double inverse = double{static_cast<const float*>(a.inputs[4])[r]};
    loops_.normalize_parameters(dy, x, mean, static_cast<float>(inverse), dscale, doffset, c_);
    double sum = 0, product = 0;
    loops_.normalize_sums(dy, x, scale, mean, c_, &sum, &product);
    auto n = static_cast<double>(c_);
    loops_.normalize_gradient(dy, x, scale, mean, static_cast<float>(inverse),
                              static_cast<float>(inverse * inverse * inverse * product / n),
                              static_cast<float>(inverse * sum / n),
                              static_cast<T*>(a.outputs[0]) + r * c_, c_);
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
