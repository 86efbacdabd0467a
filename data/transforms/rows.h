#pragma once
// Stacking elements into batches: what batch and map_and_batch share. Internal to data/.

#include <cstdint>
#include <vector>

#include "belfry/framework/tensor/features.h"

namespace belfry::data {

/// The signature of `rows` rows on top of each other: [...] becomes [rows, ...].
Signature stacked(const Signature& row, std::int64_t rows);

/// How many batches of `size` rows so many elements give; infinite and unknown stay what they are.
std::int64_t batches_of(std::int64_t elements, std::int64_t size, bool drop_remainder);

/// Copies `row`, which looks as rows of `batch` do, to place `index`. Different rows may be copied
/// by different threads at once.
void copy_row(const Features& row, std::int64_t index, Features& batch);

/// Row `index` of a batch, which looks like `row`, is unlike its row 0, `first`: says in what.
[[noreturn]] void fail_unlike(const Signature& first, const Signature& row, std::int64_t index);

/// Keeps the first rows of each array, in memory of their own.
void shorten(Features& batch, std::int64_t rows);

/// Memory for batches that goes round: a set of arrays is used again once the ring is the only one
/// that holds them.
class BatchRing {
 public:
  /// Makes `out` hold arrays of these names and types; their values are undefined.
  void acquire(const Signature& signature, Features& out);

 private:
  Features* find(const Signature& signature);

  std::vector<Features> sets_;
  std::size_t turn_ = 0;
};

}  // namespace belfry::data
