#pragma once
// Rows of a matrix in chunks. The borders depend on the shape alone: partial results that are
// combined in the order of chunks have the same bits on any number of threads.

#include <algorithm>
#include <cstdint>

#include "belfry/framework/backend/cpu/parallel.h"

namespace belfry::cpu {

inline constexpr std::int64_t elements_worth_sharing = 16384;  // below, waking a thread costs more

/// Rows of `c` elements that one thread should take at least.
inline std::int64_t rows_worth_sharing(std::int64_t c) {
  return std::max<std::int64_t>(elements_worth_sharing / std::max<std::int64_t>(c, 1), 1);
}

class RowChunks {
 public:
  RowChunks(std::int64_t rows, std::int64_t c) : rows_(rows) {
    constexpr std::int64_t most = 64;
    std::int64_t least = rows_worth_sharing(c);
    each_ = std::max(least, (rows + most - 1) / most);
    count_ = std::max<std::int64_t>((rows + each_ - 1) / each_, 1);
  }

  std::int64_t count() const { return count_; }  ///< at least 1, also for no rows
  std::int64_t begin(std::int64_t chunk) const { return chunk * each_; }
  std::int64_t size(std::int64_t chunk) const { return std::min(each_, rows_ - begin(chunk)); }

  /// Calls body(chunk) for each, on `threads` threads.
  template <class Body>
  void for_each(int threads, const Body& body) const {
    parallel_for(count_, 1, threads, [&](std::int64_t first, std::int64_t end) {
      for (std::int64_t chunk = first; chunk < end; ++chunk) body(chunk);
    });
  }

 private:
  std::int64_t rows_, each_, count_;
};

}  // namespace belfry::cpu
