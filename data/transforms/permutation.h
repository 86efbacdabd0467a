#pragma once
// A keyed permutation of 0 .. n-1 that needs little memory or none.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "belfry/framework/tensor/philox.h"

namespace belfry::data {

/// A permutation of [0, size) chosen by `key`, the same for the same key. Up to 65,536 numbers are
/// shuffled outright and kept (256 KiB at most; all permutations are equally likely). More are
/// computed one by one and take no memory: by a Feistel network over [0, a) x [0, b), a * b just
/// above size, whose halves are added modulo a and b, walked until it lands inside [0, size) (Black
/// and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002, sections 4 and 5).
/// Thread rules: any number of threads may call it.
class Permutation {
 public:
  Permutation(std::int64_t size, PhiloxKey key);

  std::int64_t size() const { return size_; }
  /// Where `index`, in [0, size), goes.
  std::int64_t operator()(std::int64_t index) const;

 private:
  static constexpr std::size_t rounds = 8;
  std::uint64_t feistel(std::uint64_t x) const;

  std::uint64_t size_, a_, b_;
  std::array<std::uint64_t, rounds> keys_;
  std::shared_ptr<const std::vector<std::uint32_t>> table_;  // null for a large size
};

}  // namespace belfry::data
