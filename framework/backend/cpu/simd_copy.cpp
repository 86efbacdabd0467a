// broadcast_to.

#include <algorithm>
#include <cstring>

#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/simd_chunks.h"
#include "belfry/framework/backend/cpu/simd_operand.h"
#include "belfry/framework/ops/defs.h"

namespace belfry::cpu {
namespace {

class BroadcastKernel final : public Kernel {
 public:
  BroadcastKernel(const Node& node, int threads)
      : loops_(simd()),
        threads_(threads),
        elements_(node.output().shape.elements()),
        operand_(node.input(0).type(), node.output().shape) {}

  std::string_view implementation() const override { return "simd"; }
  Bytes workspace() const override {
    return Bytes(operand_.pattern_size(tile) * std::int64_t{sizeof(float)});
  }

  void run(const KernelArguments& a, Stream&) override {
    if (elements_ == 0) return;
    auto* y = static_cast<float*>(a.outputs[0]);
    auto* pattern = static_cast<float*>(a.workspace);
    bool repeats = operand_.access() == TileOperand::Access::pattern;
    if (repeats) operand_.build_pattern(a.inputs[0], pattern, tile);
    parallel_for(elements_, elements_worth_sharing, threads_,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t at = begin; at < end; at += tile) {
                     std::int64_t n = std::min(tile, end - at);
                     if (repeats)
                       std::memcpy(y + at, pattern + at % operand_.period(),
                                   static_cast<std::size_t>(n) * sizeof(float));
                     else
                       operand_.load(loops_, a.inputs[0], at, n, y + at);
                   }
                 });
  }

 private:
  static constexpr std::int64_t tile = 4096;

  const SimdLoops& loops_;
  int threads_;
  std::int64_t elements_;
  TileOperand operand_;
};

std::unique_ptr<Kernel> make_broadcast(const Node& node, int threads) {
  if (node.output().dtype != DType::f32) return nullptr;
  return std::make_unique<BroadcastKernel>(node, threads);
}

const KernelRegistration broadcast(broadcast_to_op, make_broadcast);

}  // namespace
}  // namespace belfry::cpu
