#include "belfry/framework/backend/cpu/simd_convert.h"

#include <algorithm>
#include <array>

#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/simd_chunks.h"
#include "belfry/framework/ops/defs.h"

namespace belfry::cpu {
namespace {

class CastKernel final : public Kernel {
 public:
  CastKernel(DType from, DType to, std::int64_t elements, int threads)
      : loops_(simd()), threads_(threads), elements_(elements), from_(from), to_(to) {}

  std::string_view implementation() const override { return "simd"; }

  void run(const KernelArguments& a, Stream&) override {
    parallel_for(elements_, elements_worth_sharing, threads_,
                 [&](std::int64_t begin, std::int64_t end) {
                   convert(a.inputs[0], a.outputs[0], begin, end);
                 });
  }

 private:
  void convert(const void* x, void* y, std::int64_t begin, std::int64_t end) const {
    if (to_ == DType::f32) {
      load_floats(loops_, from_, x, begin, end - begin, static_cast<float*>(y) + begin);
    } else if (from_ == DType::f32) {
      store_floats(loops_, to_, static_cast<const float*>(x) + begin, end - begin, y, begin);
    } else {
      alignas(64) std::array<float, tile> values;
      for (std::int64_t at = begin; at < end; at += tile) {
        std::int64_t n = std::min(tile, end - at);
        load_floats(loops_, from_, x, at, n, values.data());
        store_floats(loops_, to_, values.data(), n, y, at);
      }
    }
  }

  static constexpr std::int64_t tile = 2048;

  const SimdLoops& loops_;
  int threads_;
  std::int64_t elements_;
  DType from_, to_;
};

std::unique_ptr<Kernel> make(const Node& node, int threads) {
  DType from = node.input(0).dtype(), to = node.output().dtype;
  bool bytes = from == DType::u8 || from == DType::boolean;
  bool loads = bytes || has_loops(from), stores = has_loops(to) || to == DType::boolean;
  if (!loads || !stores) return nullptr;
  return make_cast_kernel(from, to, node.output().shape.elements(), threads);
}

const KernelRegistration cast_registration(cast_op, make);

}  // namespace

void load_floats(const SimdLoops& loops, DType dtype, const void* x, std::int64_t at,
                 std::int64_t n, float* y) {
  switch (dtype) {
    case DType::f32:
      return loops.convert.f32.load(static_cast<const float*>(x) + at, y, n);
    case DType::bf16:
      return loops.convert.bf16.load(static_cast<const BFloat16*>(x) + at, y, n);
    case DType::f16:
      return loops.convert.f16.load(static_cast<const Float16*>(x) + at, y, n);
    case DType::u8:
    case DType::boolean:
      return loops.elementwise.from_bytes(static_cast<const std::uint8_t*>(x) + at, y, n);
    default:
      fail("internal error in Belfry: no loop loads ", dtype);
  }
}

void store_floats(const SimdLoops& loops, DType dtype, const float* x, std::int64_t n, void* y,
                  std::int64_t at) {
  switch (dtype) {
    case DType::f32:
      return loops.convert.f32.store(x, static_cast<float*>(y) + at, n);
    case DType::bf16:
      return loops.convert.bf16.store(x, static_cast<BFloat16*>(y) + at, n);
    case DType::f16:
      return loops.convert.f16.store(x, static_cast<Float16*>(y) + at, n);
    case DType::boolean:
      return loops.elementwise.to_booleans(x, static_cast<std::uint8_t*>(y) + at, n);
    default:
      fail("internal error in Belfry: no loop stores ", dtype);
  }
}

std::unique_ptr<Kernel> make_cast_kernel(DType from, DType to, std::int64_t elements, int threads) {
  return std::make_unique<CastKernel>(from, to, elements, threads);
}

}  // namespace belfry::cpu
