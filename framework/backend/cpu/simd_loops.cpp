#include "belfry/framework/backend/cpu/simd_loops.h"

#include <array>
#include <atomic>
#include <cstddef>

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

struct Choices {
  std::array<const SimdLoops*, 3> list{};
  std::size_t count = 0;

  Choices() {
#ifdef BELFRY_SIMD_X86
    __builtin_cpu_init();
    bool has_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
                  && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")
                  && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("lzcnt")
                  && __builtin_cpu_supports("movbe") && __builtin_cpu_supports("f16c");
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
