#pragma once
// The beginning of every file in this folder. The folder is compiled once for each instruction set,
// with BELFRY_ISA naming the namespace. The linker keeps one copy of an inline function, perhaps
// that of an instruction set which the machine lacks: so all that these files call is in that
// namespace, or is a template over a type in it (formulas over FastMath).

#include <cstdint>

#ifndef BELFRY_ISA
#error "compiled by framework/backend/cpu/CMakeLists.txt, which names the instruction set"
#endif

// Before a loop whose iterations do not depend on each other. Outputs may be the inputs themselves.
#if defined(__clang__)
#define BELFRY_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#else
#define BELFRY_VECTORIZE _Pragma("GCC ivdep")
#endif
#define BELFRY_INLINE inline __attribute__((always_inline))

namespace belfry::cpu::BELFRY_ISA {

/// Elements that loops over padded tiles handle at a time, on any instruction set.
inline constexpr std::int64_t lanes = 16;

template <class T>
BELFRY_INLINE T least(T a, T b) {
  return a < b ? a : b;
}

}  // namespace belfry::cpu::BELFRY_ISA
