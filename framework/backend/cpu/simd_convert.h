#pragma once
// Conversions of runs of elements whose type is known only when a kernel is made. Loops over known
// types convert by simd/element.h.

#include <cstdint>
#include <memory>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/backend/cpu/simd_loops.h"

namespace belfry::cpu {

/// f32, bf16 or f16: what loops are there for.
inline bool has_loops(DType dtype) { return dtype == DType::f32 || has_16_bits(dtype); }

/// Calls f(T{}), T being the C++ type of f32, bf16 or f16, for a kernel; null for other types.
template <class F>
std::unique_ptr<Kernel> kernel_for_type(DType dtype, const F& f) {
  if (dtype == DType::f32) return f(float{});
  if (dtype == DType::bf16) return f(BFloat16{});
  if (dtype == DType::f16) return f(Float16{});
  return nullptr;
}

/// Elements [at, at + n) of x, of type f32, bf16, f16, u8 or bool, to y.
void load_floats(const SimdLoops& loops, DType dtype, const void* x, std::int64_t at,
                 std::int64_t n, float* y);

/// x to elements [at, at + n) of y, of type f32, bf16, f16 or bool (whether it is not 0).
void store_floats(const SimdLoops& loops, DType dtype, const float* x, std::int64_t n, void* y,
                  std::int64_t at);

/// The kernel of a cast of `elements` elements from a type that load_floats() takes to one that
/// store_floats() takes.
std::unique_ptr<Kernel> make_cast_kernel(DType from, DType to, std::int64_t elements, int threads);

}  // namespace belfry::cpu
