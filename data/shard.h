#pragma once
// Pipelines that share data: each source hands out its part. Internal to data/.

#include "belfry/data/dataset.h"

namespace belfry::data {

/// A pass over `dataset`, which `make` starts: cut down to `pass.shard` if this is where its
/// elements are shared, at a source or a dataset that is shared as a whole.
IteratorPtr iterate_shard(const Dataset& dataset, Pass pass, const MakeIterator& make);

/// The elements j of `source` with j % count == index; the others are skipped.
IteratorPtr every(IteratorPtr source, std::int64_t count, std::int64_t index);

/// The places j of `order` (null: of 0, 1, ..., size - 1) with j % count == index.
Order every(const Order* order, std::int64_t size, std::int64_t count, std::int64_t index);

}  // namespace belfry::data
