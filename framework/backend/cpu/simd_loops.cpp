#include "belfry/framework/backend/cpu/simd_loops.h"

#include <array>
#include <atomic>
#include <cstddef>
#ifdef BELFRY_SIMD_X86
#include <cpuid.h>
#endif

namespace belfry::cpu {

namespace baseline {
extern const SimdLoops loops;
}
#ifdef BELFRY_SIMD_X86
namespace v3 {
extern const SimdLoops loops;
}
namespace v4 {
extern const SimdLoops loops;
}
#endif

namespace {

#ifdef BELFRY_SIMD_X86
// Features of x86-64-v3 that clang 14's __builtin_cpu_supports() has no names for.
bool has_movbe_f16c_lzcnt() {
  unsigned a = 0, b = 0, first = 0, extended = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &first, &d) || !__get_cpuid(0x80000001, &a, &b, &extended, &d))
    return false;
  return (first & bit_MOVBE) && (first & bit_F16C) && (extended & bit_LZCNT);
}
#endif

struct Choices {
  std::array<const SimdLoops*, 3> list{};
  std::size_t count = 0;

  Choices() {
#ifdef BELFRY_SIMD_X86
    __builtin_cpu_init();
    bool has_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
                  && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")
                  && __builtin_cpu_supports("popcnt") && has_movbe_f16c_lzcnt();
    bool has_v4 = has_v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
                  && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq")
                  && __builtin_cpu_supports("avx512vl");
    if (has_v4) list[count++] = &v4::loops;
    if (has_v3) list[count++] = &v3::loops;
#endif
    list[count++] = &baseline::loops;
  }
};

const Choices& choices() {
  static const Choices instance;
  return instance;
}

std::atomic<const SimdLoops*> chosen = nullptr;

}  // namespace

std::span<const SimdLoops* const> simd_choices() {
  return {choices().list.data(), choices().count};
}

const SimdLoops& simd() {
  const SimdLoops* loops = chosen;
  return loops ? *loops : *choices().list[0];
}

void use_simd(const SimdLoops& loops) { chosen = &loops; }

}  // namespace belfry::cpu
