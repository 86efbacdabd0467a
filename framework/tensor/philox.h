#pragma once
// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011, section 3.3 and table 2). A number depends on its key and
// counter alone, so any thread can draw any element in any order.

#include <array>
#include <cstdint>
#include <string_view>

#include "belfry/framework/base/host_device.h"

namespace belfry {

/// Names one stream of random numbers.
struct PhiloxKey {
  std::uint64_t value = 0;                            ///< see philox_key()
  bool operator==(const PhiloxKey&) const = default;  ///< the same stream
};

/// The stream of `name` under `seed`. Distinct names give independent streams.
PhiloxKey philox_key(std::uint64_t seed, std::string_view name);
/// The same for a stream that is named by a number.
BELFRY_HOST_DEVICE inline PhiloxKey philox_key(std::uint64_t seed, std::uint64_t stream) {
  // The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a bijection that mixes all bits.
  auto mix = [](std::uint64_t x) {
    x += 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  };
  return {mix(mix(seed) ^ stream)};
}

/// Four uniform 32-bit numbers at (counter_high, counter_low).
BELFRY_HOST_DEVICE inline std::array<std::uint32_t, 4> philox(PhiloxKey key,
                                                              std::uint64_t counter_low,
                                                              std::uint64_t counter_high = 0) {
  std::array<std::uint32_t, 4> c{
      static_cast<std::uint32_t>(counter_low), static_cast<std::uint32_t>(counter_low >> 32),
      static_cast<std::uint32_t>(counter_high), static_cast<std::uint32_t>(counter_high >> 32)};
  std::uint32_t k0 = key.value;
  std::uint32_t k1 = key.value >> 32;
  for (int round = 0; round < 10; ++round) {
    std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0];
    std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

/// 32 random bits as a float in [0, 1): the upper 24 bits over 2^24.
BELFRY_HOST_DEVICE inline float uniform_float(std::uint32_t bits) { return (bits >> 8) * 0x1p-24f; }

/// A stream read in sequence, for host code (initial values, augmentation). A value type; not for
/// sharing between threads.
class PhiloxStream {
 public:
  /// From counter_low 0 on. Streams of one key with other `counter_high` have other counters.
  explicit PhiloxStream(PhiloxKey key, std::uint64_t counter_high = 0)
      : key_(key), high_(counter_high) {}

  std::uint32_t next_u32();  ///< 32 random bits
  std::uint64_t next_u64();  ///< 64 random bits: two of next_u32()
  /// A whole number in [0, bound), without bias; bound > 0.
  std::uint64_t below(std::uint64_t bound);
  float uniform() { return uniform_float(next_u32()); }  ///< in [0, 1)
  /// In [low, high), but that rounding may give `high`.
  float uniform(float low, float high) { return low + (high - low) * uniform(); }
  double uniform_double();  ///< in [0, 1), 53 bits
  double normal();          ///< mean 0, variance 1 (Box and Muller)
  bool flip(float probability) { return uniform() < probability; }  ///< true so often

 private:
  PhiloxKey key_;
  std::uint64_t high_ = 0;
  std::uint64_t low_ = 0;
  std::array<std::uint32_t, 4> block_{};
  int used_ = 4;
};

}  // namespace belfry
