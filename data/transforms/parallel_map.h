#pragma once
// The engine of map with several workers. Internal to data/.

#include <functional>
#include <memory>

#include "belfry/data/iterator.h"

namespace belfry::data {

/// Changes an element in place; `number` counts the elements of the pass. May throw; the exception
/// is then delivered for that element.
using ElementFunction = std::function<void(Element& element, std::int64_t number)>;

struct ParallelMapOptions {
  int workers = 2;  ///< calls at once, or autotune
  /// false: elements are yielded as they are ready. A saved position then names those that are
  /// still missing, so that each comes exactly once.
  bool ordered = true;
};

/// Applies `function` to the elements of `source`, several at once, and yields them in the order of
/// the source. `function` is called from the threads of `pass.scheduler` and from the one that
/// calls next(), which lends a hand when its element has not been begun; so it makes progress also
/// when the scheduler's threads are all busy elsewhere. Destruction waits for the calls in progress
/// and starts no other.
IteratorPtr parallel_map(IteratorPtr source, ElementFunction function, ParallelMapOptions options,
                         const Pass& pass);

}  // namespace belfry::data
