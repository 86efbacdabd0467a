#pragma once
// Threads that read several iterators ahead. Internal to data/.

#include <memory>
#include <thread>
#include <vector>

#include "belfry/data/iterator.h"

namespace belfry::data {

/// Reads iterators ahead, each in its own order, with a bounded number of threads for all of them.
/// Destruction waits for the elements that are being read. Thread rules: it and the iterators that
/// it returns are used by one thread at a time.
class ReaderPool {
 public:
  ReaderPool(int threads, const Pass& pass);
  ~ReaderPool();

  /// The elements of `source`, of which up to `elements` are read before they are asked for. May
  /// outlive the pool. Its position counts what was taken; restore `source` before.
  IteratorPtr read_ahead(IteratorPtr source, std::int64_t elements);

 private:
  struct Shared;
  struct Reading;
  class Reader;

  std::shared_ptr<Shared> shared_;
  std::size_t limit_;
  std::vector<std::thread> threads_;
};

}  // namespace belfry::data
