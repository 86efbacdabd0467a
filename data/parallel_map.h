#pragma once
// The engine of map with several workers.

#include <functional>
#include <memory>

#include "belfry/data/iterator.h"
#include "belfry/data/scheduler.h"

namespace belfry::data {

/// Changes an element in place. May throw; the exception is then delivered for that element.
using ElementFunction = std::function<void(Element&)>;

/// Applies `function` to the elements of `source`, up to `workers` (2 or more, or autotune) at
/// once, and yields them in the order of the source. `function` is called from the scheduler's
/// threads and from the one that calls next(), which lends a hand when its element has not been
/// begun; so it makes progress also when the scheduler's threads are all busy elsewhere.
/// Destruction waits for the calls in progress and starts no other.
IteratorPtr parallel_map(IteratorPtr source, ElementFunction function, int workers,
                         std::shared_ptr<Scheduler> scheduler);

}  // namespace belfry::data
