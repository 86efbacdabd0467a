#include <algorithm>

#include "belfry/data/transforms.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

struct Skip final : Iterator {
  Skip(IteratorPtr s, std::int64_t n) : source(std::move(s)), count(n), left(n) {}
  bool next(Element& out) override {
    for (; left > 0; --left) {
      try {
        if (!source->next(out)) return false;
      } catch (...) {  // not among the elements asked for
      }
    }
    return source->next(out);
  }
  void position(Position& at) override {
    at.field("skip.left", left, 0, count);
    source->position(at);
  }
  IteratorPtr source;
  std::int64_t count, left;
};

Order shifted(const Order* order, std::int64_t by, std::int64_t size) {
  if (order == nullptr) return {.size = size, .at = [=](std::int64_t i) { return i + by; }};
  return {.size = order->size,
          .at = [=, at = order->at](std::int64_t i) { return at(i) + by; },
          .seed = order->seed};
}

}  // namespace

Transform skip(std::int64_t count) {
  require(count >= 0, "skip: count must be at least 0, got ", count);
  return [=](Dataset source) {
    DatasetInfo info = source.info();
    if (info.cardinality >= 0)
      info.cardinality = std::max<std::int64_t>(info.cardinality - count, 0);
    auto make = [=](Pass pass) -> IteratorPtr {
      if (!info.random_access) return std::make_unique<Skip>(source.iterate(pass), count);
      pass.order = std::make_shared<Order>(shifted(pass.order.get(), count, info.cardinality));
      return source.iterate(pass);
    };
    return source.then(make, info);
  };
}

}  // namespace belfry::data
