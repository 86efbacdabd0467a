#include "belfry/data/transforms/permutation.h"

#include <cmath>

#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

// A number in [0, bound), bound <= 2^32, that depends on all bits of `x`: MurmurHash3's finaliser
// (Appleby), whose upper half is then scaled.
std::uint64_t hash_below(std::uint64_t x, std::uint64_t bound) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
  return (x >> 32) * bound >> 32;
}

std::uint64_t add_modulo(std::uint64_t x, std::uint64_t y, std::uint64_t modulus) {
  std::uint64_t sum = x + y;
  return sum < modulus ? sum : sum - modulus;
}

// Fisher and Yates, "inside out" (Knuth, TAOCP volume 2, section 3.4.2, algorithm P).
std::shared_ptr<const std::vector<std::uint32_t>> shuffled(std::uint64_t size, PhiloxKey key) {
  auto out = std::make_shared<std::vector<std::uint32_t>>(size);
  PhiloxStream random(key);
  for (std::uint64_t i = 0; i < size; ++i) {
    std::uint64_t j = random.below(i + 1);
    (*out)[i] = (*out)[j];
    (*out)[j] = i;
  }
  return out;
}

}  // namespace

Permutation::Permutation(std::int64_t size, PhiloxKey key)
    : size_(static_cast<std::uint64_t>(size)), a_(1), b_(1), keys_{} {
  ensure(size >= 0 && size < std::int64_t{1} << 62, "permutation: of ", size, " elements");
  if (size_ <= 65'536) {
    table_ = shuffled(size_, key);
    return;
  }
  a_ = static_cast<std::uint64_t>(std::sqrt(size_)) + 1;
  b_ = size_ / a_ + 1;
  for (std::size_t i = 0; i < rounds; ++i) {
    auto block = philox(key, i);
    keys_[i] = std::uint64_t{block[0]} << 32 | block[1];
  }
}

std::int64_t Permutation::operator()(std::int64_t index) const {
  std::uint64_t x = index;
  if (table_) return (*table_)[x];
  do x = feistel(x);
  while (x >= size_);
  return x;
}

std::uint64_t Permutation::feistel(std::uint64_t x) const {
  std::uint64_t low = x % a_;
  std::uint64_t high = x / a_;
  for (std::size_t i = 0; i < rounds; i += 2) {
    low = add_modulo(low, hash_below(high ^ keys_[i], a_), a_);
    high = add_modulo(high, hash_below(low ^ keys_[i + 1], b_), b_);
  }
  return high * a_ + low;
}

}  // namespace belfry::data
