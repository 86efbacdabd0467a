// Batch normalisation in two passes over the rows each way: statistics, then the elements. ReLU and
// a residual cost no pass of their own.

#include <cmath>

#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/simd_chunks.h"
#include "belfry/framework/backend/cpu/simd_convert.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry::cpu {
namespace {

/// x as a matrix [rows, c]. The workspace holds two vectors of doubles a chunk, then floats.
template <class T>
class BatchNormKernel : public Kernel {
 public:
  BatchNormKernel(const Shape& x, int threads)
      : loops_(simd().batch_norm.of<T>()),
        threads_(threads),
        c_(x[x.rank() - 1]),
        rows_(c_ > 0 ? x.elements() / c_ : 0),
        chunks_(rows_, c_) {}

  std::string_view implementation() const override { return "simd"; }
  Bytes workspace() const override {
    return Bytes(
        c_
        * (2 * chunks_.count() * std::int64_t{sizeof(double)} + 3 * std::int64_t{sizeof(float)}));
  }

 protected:
  double* first_sums(void* workspace, std::int64_t chunk) const {
    return static_cast<double*>(workspace) + 2 * chunk * c_;
  }
  double* second_sums(void* workspace, std::int64_t chunk) const {
    return first_sums(workspace, chunk) + c_;
  }
  float* vector(void* workspace, int i) const {
    return reinterpret_cast<float*>(first_sums(workspace, chunks_.count())) + i * c_;
  }
  /// Calls body(first row, rows, offset of the first element).
  template <class Body>
  void for_rows(const Body& body) const {
    parallel_for(rows_, rows_worth_sharing(c_), threads_,
                 [&](std::int64_t begin, std::int64_t end) { body(end - begin, begin * c_); });
  }

  const BatchNormLoops<T>& loops_;
  int threads_;
  std::int64_t c_, rows_;
  RowChunks chunks_;
};

template <class T>
class BatchNormTrainKernel final : public BatchNormKernel<T> {
  using Base = BatchNormKernel<T>;
  using Base::c_, Base::chunks_, Base::loops_, Base::rows_, Base::threads_;
  using Base::first_sums, Base::for_rows, Base::second_sums, Base::vector;

 public:
  BatchNormTrainKernel(const Node& node, int threads)
      : BatchNormKernel<T>(node.input(0).shape(), threads), options_(node.as<BatchNormOptions>()) {}

  void run(const KernelArguments& a, Stream&) override {
    const auto* x = a.input<T>(0);
    const auto* residual = options_.residual ? a.input<T>(3) : nullptr;
    auto* y = a.output<T>(0);
    statistics(a, x);
    const float* factor = vector(a.workspace, 0);
    const auto* offset = a.input<float>(2);
    const auto* mean = static_cast<const float*>(a.outputs[1]);
    for_rows([&](std::int64_t rows, std::int64_t at) {
      loops_.normalize(x + at, residual ? residual + at : nullptr, mean, factor, offset,
                       options_.activation == Activation::relu, rows, c_, y + at);
    });
  }

 private:
  /// Writes mean, variance and inverse standard deviation, and scale over the latter's reciprocal.
  void statistics(const KernelArguments& a, const T* x) const {
    double *mean = first_sums(a.workspace, 0), *squares = second_sums(a.workspace, 0);
    if (rows_ == 0) std::fill_n(mean, 2 * c_, 0.0);
    if (rows_ > 0)
      chunks_.for_each(threads_, [&](std::int64_t k) {
        loops_.moments(x + chunks_.begin(k) * c_, chunks_.size(k), c_, first_sums(a.workspace, k),
                       second_sums(a.workspace, k));
      });
    for (std::int64_t k = 1; k < chunks_.count(); ++k)
      loops_.merge(mean, squares, static_cast<double>(chunks_.begin(k)), first_sums(a.workspace, k),
                   second_sums(a.workspace, k), static_cast<double>(chunks_.size(k)), c_);

    const auto* scale = a.input<float>(1);
    auto *mean_out = a.output<float>(1), *variance = a.output<float>(2),
         *inverse = a.output<float>(3), *factor = vector(a.workspace, 0);
    double count = std::max(static_cast<double>(rows_), 1.0);
    for (std::int64_t j = 0; j < c_; ++j) {
      mean_out[j] = static_cast<float>(mean[j]);
      variance[j] = static_cast<float>(squares[j] / count);
      inverse[j] = static_cast<float>(1 / std::sqrt(squares[j] / count + options_.epsilon));
      factor[j] = scale[j] * inverse[j];  // the gradient has the same
    }
  }

  BatchNormOptions options_;
};

template <class T>
class BatchNormGradKernel final : public BatchNormKernel<T> {
  using Base = BatchNormKernel<T>;
  using Base::c_, Base::chunks_, Base::loops_, Base::rows_, Base::threads_;
  using Base::first_sums, Base::for_rows, Base::second_sums, Base::vector;

 public:
  BatchNormGradKernel(const Node& node, int threads)
      : BatchNormKernel<T>(node.input(1).shape(), threads),
        options_(node.as<BatchNormGradOptions>()) {}

  void run(const KernelArguments& a, Stream&) override {
    const auto *dy = a.input<T>(0), *x = a.input<T>(1);
    ReluMask<T> mask;
    if (options_.activation == Activation::relu && options_.gate == ReluGate::offset)
      mask.offset = a.input<float>(5);
    else if (options_.activation == Activation::relu)
      mask.y = a.input<T>(5);
    const auto* mean = a.input<float>(3);
    auto *dx = a.output<T>(0), *dresidual = options_.residual ? a.output<T>(3) : nullptr;
    parameters(a, dy, x, mask, mean);
    const float *factor = vector(a.workspace, 0), *slope = vector(a.workspace, 1),
                *shift = vector(a.workspace, 2);
    for_rows([&](std::int64_t rows, std::int64_t at) {
      loops_.gradient(dy + at, x + at, mask_at(mask, at), mean, factor, slope, shift, rows, c_,
                      dx + at, dresidual ? dresidual + at : nullptr);
    });
  }

 private:
  /// The mask of rows that begin at element `at`.
  static ReluMask<T> mask_at(ReluMask<T> mask, std::int64_t at) {
    return {mask.y ? mask.y + at : nullptr, mask.offset};
  }

  /// Writes dscale and doffset, and the vectors that the gradient of x needs.
  void parameters(const KernelArguments& a, const T* dy, const T* x, ReluMask<T> mask,
                  const float* mean) const {
    const auto *scale = a.input<float>(2), *inverse = a.input<float>(4);
    float *factor = vector(a.workspace, 0), *slope = vector(a.workspace, 1),
          *shift = vector(a.workspace, 2);
    for (std::int64_t j = 0; j < c_; ++j) factor[j] = scale[j] * inverse[j];
    chunks_.for_each(threads_, [&](std::int64_t k) {
      std::int64_t at = chunks_.begin(k) * c_;
      loops_.gradient_sums(dy + at, x + at, mask_at(mask, at), mean, factor, chunks_.size(k), c_,
                           first_sums(a.workspace, k), second_sums(a.workspace, k));
    });
    double *sums = first_sums(a.workspace, 0), *products = second_sums(a.workspace, 0);
    for (std::int64_t k = 1; k < chunks_.count(); ++k)
      for (std::int64_t j = 0; j < 2 * c_; ++j) sums[j] += first_sums(a.workspace, k)[j];

    auto *dscale = a.output<float>(1), *doffset = a.output<float>(2);
    double count = std::max(static_cast<double>(rows_), 1.0);
    for (std::int64_t j = 0; j < c_; ++j) {
      double inverse_j = double{inverse[j]}, factor_j = double{scale[j]} * inverse_j;
      dscale[j] = static_cast<float>(products[j] * inverse_j);
      doffset[j] = static_cast<float>(sums[j]);
      slope[j] = static_cast<float>(factor_j * inverse_j * inverse_j * products[j] / count);
      shift[j] = static_cast<float>(factor_j * sums[j] / count);
    }
  }

  BatchNormGradOptions options_;
};

template <class T>
class BatchNormRecomputeKernel final : public BatchNormKernel<T> {
  using Base = BatchNormKernel<T>;
  using Base::c_, Base::loops_, Base::for_rows;

 public:
  BatchNormRecomputeKernel(const Node& node, int threads)
      : BatchNormKernel<T>(node.input(0).shape(), threads),
        options_(node.as<BatchNormRecomputeOptions>()) {}

  Bytes workspace() const override { return Bytes(c_ * std::int64_t{sizeof(float)}); }
  void run(const KernelArguments& a, Stream&) override {
    const auto* x = a.input<T>(0);
    const auto* residual = options_.residual ? a.input<T>(5) : nullptr;
    const auto *scale = a.input<float>(1), *offset = a.input<float>(2), *mean = a.input<float>(3),
               *inverse = a.input<float>(4);
    auto* y = a.output<T>(0);
    auto* factor = a.scratch<float>();
    for (std::int64_t j = 0; j < c_; ++j) factor[j] = scale[j] * inverse[j];
    for_rows([&](std::int64_t rows, std::int64_t at) {
      loops_.normalize(x + at, residual ? residual + at : nullptr, mean, factor, offset,
                       options_.activation == Activation::relu, rows, c_, y + at);
    });
  }

 private:
  BatchNormRecomputeOptions options_;
};

bool has_mask(const Node& node) {
  if (node.is(batch_norm_grad_op)) return node.as<BatchNormGradOptions>().gate == ReluGate::mask;
  return node.is(batch_norm_train_op) && node.as<BatchNormOptions>().mask;
}

template <template <class> class K, int X>
std::unique_ptr<Kernel> make(const Node& node, int threads) {
  if (has_mask(node)) return nullptr;
  return kernel_for_type(node.input(X).dtype(),
                         [&](auto t) { return std::make_unique<K<decltype(t)>>(node, threads); });
}

const KernelRegistration train(batch_norm_train_op, make<BatchNormTrainKernel, 0>);
const KernelRegistration recompute(batch_norm_recompute_op, make<BatchNormRecomputeKernel, 0>);
const KernelRegistration grad(batch_norm_grad_op, make<BatchNormGradKernel, 1>);

}  // namespace
}  // namespace belfry::cpu
