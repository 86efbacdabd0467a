#include "belfry/data/shard.h"

#include "belfry/data/selection/selection.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {

Transform shard(std::int64_t count, std::int64_t index) {
  require(count >= 1, "shard: count must be at least 1, got ", count);
  require(index >= 0 && index < count, "shard: index must be from 0 to ", count - 1, ", got ",
          index);
  return [=](Dataset source) {
    DatasetInfo info = same_elements(source.info());
    if (info.cardinality >= 0)
      info.cardinality = every(nullptr, info.cardinality, count, index).size;
    info.whole = !info.random_access;
    auto make = [=](Pass pass) -> IteratorPtr {
      if (!info.random_access) return every(source.iterate(pass), count, index);
      // An order of this dataset's elements picks from the source's j = i * count + index.
      Order mine = every(nullptr, source.cardinality(), count, index);
      if (pass.order) {
        mine = {
            .size = pass.order->size,
            .at = [of = mine.at, order = pass.order](std::int64_t i) { return of(order->at(i)); },
            .seed = pass.order->seed};
      }
      pass.order = std::make_shared<Order>(std::move(mine));
      return source.iterate(pass);
    };
    return Dataset("shard", {source}, make, info);
  };
}

}  // namespace belfry::data
