// The gradient of a kernel as the product of patches and dy.

#include <algorithm>
#include <array>
#include <optional>

#include "belfry/framework/backend/cpu/conv_kernels.h"
#include "belfry/framework/backend/cpu/onednn/conv_patches.h"
#include "belfry/framework/backend/cpu/onednn/onednn_api.h"
#include "belfry/framework/backend/cpu/simd_chunks.h"
#include "belfry/framework/backend/cpu/simd_convert.h"

namespace belfry::cpu {
namespace {

/// In f32, by oneDNN's classic routine. Several blocks are added up by it.
class GemmGradKernel final : public Kernel {
 public:
  GemmGradKernel(std::string_view op, const ConvGeometry& g, int threads)
      : op_(op), patches_(g, threads), out_(g.out_channels) {}

  std::string_view implementation() const override { return "onednn"; }
  Bytes workspace() const override { return patches_.workspace(); }

  void run(const KernelArguments& a, Stream&) override {
    const auto *x = a.input<float>(0), *dy = a.input<float>(1);
    auto* dw = a.output<float>(0);
    std::int64_t m = patches_.size();
    auto multiply = [&](const float* patches, std::int64_t first, std::int64_t count) {
      dnnl_status_t status = dnnl_sgemm('T', 'N', m, out_, count, 1.0f, patches, m,
                                        dy + first * out_, out_, first > 0 ? 1.0f : 0.0f, dw, out_);
      if (status != dnnl_success) fail_onednn(op_, "multiply", status);
    };
    patches_.for_blocks(x, a.workspace, multiply);
  }

 private:
  std::string_view op_;
  Patches<float> patches_;
  std::int64_t out_;
};

/// In bf16, by the matmul primitive. Several blocks are added up in f32.
class MatmulGradKernel final : public Kernel {
 public:
  MatmulGradKernel(std::string_view op, const ConvGeometry& g, int threads)
      : patches_(g, threads),
        out_(g.out_channels),
        threads_(threads),
        block_(product(op, patches_.block())) {
    std::int64_t rest = g.out_positions() % patches_.block();
    if (rest > 0) rest_.emplace(product(op, rest));
  }

  std::string_view implementation() const override { return "onednn"; }
  /// Patches, then the sums of several blocks, then scratch memory.
  Bytes workspace() const override {
    Bytes scratch = block_.scratch();
    if (rest_) scratch = std::max(scratch, rest_->scratch());
    return Bytes(sums_at() + sums_size() + scratch.count);
  }

  void run(const KernelArguments& a, Stream&) override {
    auto* workspace = a.scratch<std::byte>();
    void* scratch = workspace + sums_at() + sums_size();
    auto* sums = reinterpret_cast<float*>(workspace + sums_at());
    auto* dw = a.output<BFloat16>(0);
    auto* dy = static_cast<BFloat16*>(a.inputs[1]);
    std::int64_t numbers = patches_.size() * out_;
    if (several())
      parallel_for(
          numbers, elements_worth_sharing, threads_,
          [&](std::int64_t begin, std::int64_t end) { std::fill(sums + begin, sums + end, 0.0f); });
    auto multiply = [&](const BFloat16* patches, std::int64_t first, std::int64_t count) {
      Primitive& product = count == patches_.block() ? block_ : *rest_;
      void* to = several() ? static_cast<void*>(sums) : dw;
      product.run(std::array<void*, 3>{const_cast<BFloat16*>(patches), dy + first * out_, to},
                  scratch);
    };
    patches_.for_blocks(a.input<BFloat16>(0), workspace, multiply);
    if (!several()) return;
    const auto& convert = simd().convert.bf16;
    parallel_for(numbers, elements_worth_sharing, threads_,
                 [&](std::int64_t begin, std::int64_t end) {
                   convert.store(sums + begin, dw + begin, end - begin);
                 });
  }

 private:
  bool several() const { return patches_.blocks() > 1; }
  std::int64_t sums_at() const { return aligned(patches_.workspace()).count; }
  std::int64_t sums_size() const {
    return several() ? aligned(Bytes(patches_.size() * out_ * std::int64_t{sizeof(float)})).count
                     : 0;
  }

  /// patches' dy of so many patches; added to the sums where there are several blocks.
  Primitive product(std::string_view op, std::int64_t count) const {
    using dnnl::memory;
    constexpr auto bf16 = memory::data_type::bf16;
    std::int64_t m = patches_.size();
    memory::desc patches({m, count}, bf16, memory::dims{1, m}),
        dy({count, out_}, bf16, memory::dims{out_, 1}),
        dw({m, out_}, several() ? memory::data_type::f32 : bf16, memory::dims{out_, 1});
    dnnl::primitive_attr attributes = workspace_attributes();
    if (several()) {
      dnnl::post_ops added;
      added.append_sum();
      attributes.set_post_ops(added);
    }
    return matrix_product(op, patches, dy, dw, attributes);
  }

  Patches<BFloat16> patches_;
  std::int64_t out_;
  int threads_;
  Primitive block_;
  std::optional<Primitive> rest_;
};

bool is_faster(const ConvGeometry& g, DType dtype) {
  bool bf16 = dtype == DType::bf16 && multiplies_bf16();
  if (g.groups > 1 || !(bf16 || dtype == DType::f32)) return false;
  std::int64_t channels = std::max(g.in_channels, g.out_channels);
  if (g.is_product())
    return bf16 ? g.in_positions() <= 4 * channels : g.in_positions() >= 64 * channels;
  // oneDNN is slow where windows move by more than one pixel. Patches of few channels cost more
  // than they gain; fewer results than 64 of each were not measured.
  bool moves = g.depth.stride > 1 || g.rows.stride > 1 || g.columns.stride > 1;
  return moves && g.in_channels >= 16 && g.out_channels >= 64;
}

}  // namespace

std::unique_ptr<Kernel> patches_grad_kernel(const Node& node, const ConvGeometry& g, int threads,
                                            bool primitive_is_wrong) {
  DType dtype = node.output().dtype;
  bool is_needed = primitive_is_wrong && g.groups == 1 && dtype == DType::f32;
  if (!is_needed && !is_faster(g, dtype)) return nullptr;
  if (dtype == DType::f32) return std::make_unique<GemmGradKernel>(node.op().name, g, threads);
  return std::make_unique<MatmulGradKernel>(node.op().name, g, threads);
}

}  // namespace belfry::cpu
