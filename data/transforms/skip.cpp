#include <algorithm>

#include "belfry/data/transforms/transforms.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

struct Skip final : Iterator {
  Skip(IteratorPtr s, std::int64_t n) : source(std::move(s)), count(n), left(n) {}
  bool next(Element& out) override { return pass_over() && source->next(out); }
  std::int64_t skip(std::int64_t n) override { return n > 0 && pass_over() ? source->skip(n) : 0; }
  void position(Position& at) override {
    at.field("skip.left", left, 0, count);
    source->position(at);
  }
  bool pass_over() {
    left -= source->skip(left);
    return left == 0;
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
    DatasetInfo info = same_elements(source.info());
    if (info.cardinality >= 0)
      info.cardinality = std::max<std::int64_t>(info.cardinality - count, 0);
    info.whole = !info.random_access;
    auto make = [=](Pass pass) -> IteratorPtr {
      if (!info.random_access) return std::make_unique<Skip>(source.iterate(pass), count);
      pass.order = std::make_shared<Order>(shifted(pass.order.get(), count, info.cardinality));
      return source.iterate(pass);
    };
    return Dataset("skip", {source}, make, info);
  };
}

}  // namespace belfry::data
