#include <algorithm>

#include "belfry/data/transforms/transforms.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

struct Take final : Iterator {
  Take(IteratorPtr s, std::int64_t n) : source(std::move(s)), count(n), left(n) {}
  bool next(Element& out) override {
    if (left == 0) return false;
    --left;
    return source->next(out);
  }
  std::int64_t skip(std::int64_t n) override {
    std::int64_t skipped = source->skip(std::min(n, left));
    left -= skipped;
    return skipped;
  }
  void position(Position& at) override {
    at.field("take.left", left, 0, count);
    source->position(at);
  }
  IteratorPtr source;
  std::int64_t count, left;
};

std::int64_t cardinality(std::int64_t of_source, std::int64_t count) {
  if (count == 0) return 0;
  if (of_source == unknown) return unknown;
  return of_source == infinite ? count : std::min(of_source, count);
}

}  // namespace

Transform take(std::int64_t count) {
  require(count >= 0, "take: count must be at least 0, got ", count);
  return [=](Dataset source) {
    DatasetInfo info{.cardinality = cardinality(source.cardinality(), count),
                     .random_access = source.info().random_access,
                     .whole = !source.info().random_access};
    auto make = [=](Pass pass) -> IteratorPtr {
      if (!info.random_access) return std::make_unique<Take>(source.iterate(pass), count);
      if (!pass.order)
        pass.order = std::make_shared<Order>(
            Order{.size = info.cardinality, .at = [](std::int64_t i) { return i; }});
      return source.iterate(pass);
    };
    return Dataset("take", {source}, make, info);
  };
}

}  // namespace belfry::data
