#include <algorithm>
#include <memory>

#include "belfry/data/transforms/errors.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

using Indices = std::shared_ptr<const std::vector<std::int64_t>>;

// Without random access: passes over what lies between.
class Selected final : public Iterator {
 public:
  Selected(IteratorPtr source, Indices indices, std::stop_token stop)
      : source_(std::move(source)), indices_(std::move(indices)), stop_(std::move(stop)) {}

  bool next(Element& out) override {
    if (next_ == std::ssize(*indices_)) return false;
    std::int64_t wanted = at(next_), between = wanted - reached();
    ++next_;
    bool found = source_->skip(between) == between && source_->next(out);
    if (!found) out.index = wanted;
    require(found || stop_.stop_requested(), "select: there is no element ", wanted);
    return found;
  }

  std::int64_t skip(std::int64_t count) override {
    std::int64_t last = std::min<std::int64_t>(next_ + count, std::ssize(*indices_));
    if (last == next_) return 0;
    source_->skip(at(last - 1) + 1 - reached());
    count = last - next_;
    next_ = last;
    return count;
  }

  void position(Position& at) override {
    at.field("select.next", next_, 0, std::ssize(*indices_));
    source_->position(at);
  }

 private:
  std::int64_t at(std::int64_t i) const { return (*indices_)[i]; }
  // Elements of the source that are behind it.
  std::int64_t reached() const { return next_ == 0 ? 0 : at(next_ - 1) + 1; }

  IteratorPtr source_;
  Indices indices_;
  std::stop_token stop_;
  std::int64_t next_ = 0;
};

Dataset by_order(const Dataset& source, const Indices& indices) {
  std::int64_t known = source.cardinality();
  for (std::int64_t index : *indices)
    require(index < known, "select: there is no element ", index, " of ", known);
  auto make = [=](Pass pass) {
    auto at = [indices](std::int64_t i) { return (*indices)[i]; };
    Order order{.size = std::ssize(*indices), .at = at};
    if (pass.order)
      order = {.size = pass.order->size,
               .at = [at, inner = pass.order->at](std::int64_t i) { return at(inner(i)); },
               .seed = pass.order->seed};
    pass.order = std::make_shared<Order>(std::move(order));
    return source.iterate(pass);
  };
  return Dataset("select", {source}, make,
                 {.cardinality = std::ssize(*indices), .random_access = true});
}

Dataset by_skipping(const Dataset& source, const Indices& indices) {
  for (std::size_t i = 1; i < indices->size(); ++i)
    require((*indices)[i - 1] < (*indices)[i], "select: ", source.name(),
            " has no random access, so indices must ascend, but ", (*indices)[i], " follows ",
            (*indices)[i - 1]);
  auto make = [=](const Pass& pass) {
    return std::make_unique<Selected>(source.iterate(pass), indices, pass.stop);
  };
  return Dataset("select", {source}, make, {.cardinality = std::ssize(*indices), .whole = true});
}

}  // namespace

Transform select(std::vector<std::int64_t> indices) {
  for (std::int64_t index : indices)
    require(index >= 0, "select: an index must be at least 0, got ", index);
  auto shared = std::make_shared<const std::vector<std::int64_t>>(std::move(indices));
  return [shared](const Dataset& source) {
    return source.info().random_access ? by_order(source, shared) : by_skipping(source, shared);
  };
}

}  // namespace belfry::data
