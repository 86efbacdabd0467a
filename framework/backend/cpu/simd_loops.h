#pragma once
// The inner loops of our own kernels. They are compiled once for each instruction set from the
// files in simd/; kernels take those of the best set that the machine has. Loops know nothing of
// threads: the kernels split the work.

#include <cstdint>
#include <span>
#include <string_view>

namespace belfry::cpu {

/// An elementwise op on `n` floats, a multiple of 16; booleans are 0 or 1. `out` may be an operand.
/// Operands that the op does not have are null.
struct ElementwiseLoop {
  std::string_view name;  ///< the op's
  void (*run)(const float* a, const float* b, const float* c, float* out, std::int64_t n);
};

struct ElementwiseLoops {
  const ElementwiseLoop* ops;
  int count;
  void (*from_bytes)(const std::uint8_t* x, float* y, std::int64_t n);  ///< any n
  void (*to_booleans)(const float* x, std::uint8_t* y, std::int64_t n);

  /// The loop of this op, or null.
  const ElementwiseLoop* find(std::string_view op) const {
    for (int i = 0; i < count; ++i)
      if (ops[i].name == op) return &ops[i];
    return nullptr;
  }
};

/// All loops for one instruction set.
struct SimdLoops {
  std::string_view isa;  ///< "x86-64-v4", "baseline"
  const ElementwiseLoops& elementwise;
};

/// Those compiled in that this machine can run, best first.
std::span<const SimdLoops* const> simd_choices();

/// Those for kernels made from now on: the best, unless use_simd() chose others.
const SimdLoops& simd();
void use_simd(const SimdLoops& loops);  ///< for tests

}  // namespace belfry::cpu
