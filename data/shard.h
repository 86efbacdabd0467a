#pragma once
// Pipelines that share data: each source hands out its part. Internal to data/.

#include <functional>

#include "belfry/data/dataset.h"

namespace belfry::data {

/// The policy that `automatic` comes to for this source and so many pipelines.
ShardPolicy resolve(ShardPolicy policy, const DatasetInfo& source, int pipelines);

/// A pass over a source, cut down to `pass.shard`. `make` starts the source's own pass.
IteratorPtr shard_source(const Dataset& source, Pass pass, const MakeIterator& make);

/// The elements j of `source` with j % count == index; the others are skipped.
IteratorPtr every(IteratorPtr source, std::int64_t count, std::int64_t index);

/// The places j of `order` (null: of 0, 1, ..., size - 1) with j % count == index.
Order every(const Order* order, std::int64_t size, std::int64_t count, std::int64_t index);

}  // namespace belfry::data
