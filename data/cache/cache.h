#pragma once
// Elements that are computed once.

#include <string>

#include "belfry/data/dataset.h"
#include "belfry/framework/base/units.h"

namespace belfry::data {

/// Options of cache().
struct CacheOptions {
  /// Memory that the cache may take; elements beyond it are computed each time.
  Bytes memory = Bytes(std::int64_t{4} << 30);
};

/// Keeps the elements of what stands before it in memory, for all passes and streams of this
/// dataset. What stands before it sees epoch 0 in each pass, and nothing of where in a larger
/// pipeline the cache stands: so the elements are the same whether they come from the cache or not,
/// a restored stream needs no cache to continue exactly, and random changes to be drawn anew in
/// each epoch belong behind it. Keeps random access; elements can be shuffled behind it.
Transform cache(CacheOptions options = {});

/// The same in the file `path`, which appears when a pass has come to its end and serves all later
/// passes and programs; until then, and if the pass is given up, nothing is there. Several
/// pipelines that share the data get a file each: `path.0-of-4`. A file of another pipeline or of
/// other data is noticed only by its number of elements, where that is known: remove the file when
/// what stands before it changes. Error: a source that never ends, a damaged file, one of another
/// number of elements, a missing folder.
Transform cache(const std::string& path);

/// Writes all elements of what stands before it to the file `path`, now, unless it is there, and
/// reads them from it: with random access and a known cardinality, at the cost of reading, not of
/// computing. Epoch 0 as in cache(). Error: as cache(); whatever an element throws.
Transform snapshot(const std::string& path);

/// The elements of a file that snapshot() or cache() wrote. Random access.
Dataset from_snapshot(const std::string& path);

}  // namespace belfry::data
