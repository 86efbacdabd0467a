#pragma once
// The conversion of one element by cast, for kernels on every device. nvcc reads this file too.

#include <cstdint>
#include <limits>
#include <type_traits>

#include "belfry/framework/base/host_device.h"

namespace belfry {

/// x as a To, both types of computation. Floats become whole numbers by dropping what is behind the
/// point; those out of range become the nearest that To has, and NaN becomes 0.
template <class To, class From>
BELFRY_HOST_DEVICE To convert(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    // A conversion out of range would be undefined; these bounds are exact in every From.
    using Limits = std::numeric_limits<To>;
    constexpr auto end = static_cast<From>(std::uint64_t{1} << (Limits::digits - 1)) * 2;
    if (x != x) return 0;
    if (x >= end) return Limits::max();
    if (x <= static_cast<From>(Limits::min())) return Limits::min();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace belfry
