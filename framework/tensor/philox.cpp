#include "belfry/framework/tensor/philox.h"

#include "belfry/framework/base/error.h"
#include "belfry/framework/tensor/philox_draws.h"

namespace belfry {

PhiloxKey philox_key(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, 64 bits
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return philox_key(seed, hash);
}

std::uint32_t PhiloxStream::next_u32() {
  if (used_ == 4) {
    block_ = philox(key_, low_++, high_);
    used_ = 0;
  }
  return block_[used_++];
}

std::uint64_t PhiloxStream::next_u64() {
  std::uint64_t high = next_u32();
  return high << 32 | next_u32();
}

std::uint64_t PhiloxStream::below(std::uint64_t bound) {
  ensure(bound > 0, "philox: below(0)");
  // Rejecting the lowest 2^64 mod bound values leaves a multiple of bound.
  std::uint64_t reject = (0 - bound) % bound;
  std::uint64_t draw = next_u64();
  while (draw < reject) draw = next_u64();
  return draw % bound;
}

double PhiloxStream::uniform_double() { return (next_u64() >> 11) * 0x1p-53; }

double PhiloxStream::normal() {
  double size = uniform_double();
  return normal_of(size, uniform_double());
}

}  // namespace belfry
