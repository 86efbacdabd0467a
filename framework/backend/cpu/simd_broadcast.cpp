// broadcast_to.

#include <algorithm>
#include <array>

#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/simd_chunks.h"
#include "belfry/framework/backend/cpu/simd_convert.h"
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
        dtype_(node.output().dtype),
        operand_(node.input(0).type(), node.output().shape) {}

  std::string_view implementation() const override { return "simd"; }
  Bytes workspace() const override {
    return Bytes(operand_.pattern_size(tile) * std::int64_t{sizeof(float)});
  }

  void run(const KernelArguments& a, Stream&) override {
    if (elements_ == 0) return;
    auto* pattern = a.scratch<float>();
    if (repeats()) operand_.build_pattern(loops_, a.inputs[0], pattern, tile);
    parallel_for(elements_, elements_worth_sharing, threads_,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t at = begin; at < end; at += tile)
                     run_tile(a, pattern, at, std::min(tile, end - at));
                 });
  }

 private:
  static constexpr std::int64_t tile = 4096;

  bool repeats() const { return operand_.access() == TileOperand::Access::pattern; }

  void run_tile(const KernelArguments& a, const float* pattern, std::int64_t at,
                std::int64_t n) const {
    if (repeats()) {
      store_floats(loops_, dtype_, pattern + at % operand_.period(), n, a.outputs[0], at);
    } else if (dtype_ == DType::f32) {
      operand_.load(loops_, a.inputs[0], at, n, a.output<float>(0) + at);
    } else {
      alignas(64) std::array<float, tile> values;
      operand_.load(loops_, a.inputs[0], at, n, values.data());
      store_floats(loops_, dtype_, values.data(), n, a.outputs[0], at);
    }
  }

  const SimdLoops& loops_;
  int threads_;
  std::int64_t elements_;
  DType dtype_;
  TileOperand operand_;
};

std::unique_ptr<Kernel> make_broadcast(const Node& node, int threads) {
  if (!has_loops(node.output().dtype)) return nullptr;
  return std::make_unique<BroadcastKernel>(node, threads);
}

const KernelRegistration broadcast(broadcast_to_op, make_broadcast);

}  // namespace
}  // namespace belfry::cpu
