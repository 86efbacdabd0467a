#include <utility>
#include <vector>

#include "belfry/data/permutation.h"
#include "belfry/data/transforms.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

class Reservoir final : public Iterator {
 public:
  Reservoir(IteratorPtr source, std::int64_t capacity, std::uint64_t seed, PhiloxStream random)
      : source_(std::move(source)),
        capacity_(static_cast<std::size_t>(capacity)),
        seed_(seed),
        random_(random) {}

  bool next(Element& out) override {
    ++taken_;  // before filling: an element that fails is consumed too
    fill();
    if (filled_ == 0) {
      --taken_;
      return false;
    }
    auto pick = static_cast<std::size_t>(random_.below(filled_));
    --filled_;
    std::swap(out, buffer_[pick]);
    std::swap(buffer_[pick], buffer_[filled_]);
    return true;
  }

  void position(Position& at) override {
    std::int64_t taken = taken_;
    at.field("shuffle.taken", taken);
    at.constant("shuffle.seed", static_cast<std::int64_t>(seed_));
    if (!at.saving()) read_again(*this, taken, "shuffled data");
  }

 private:
  void fill() {
    while (!ended_ && filled_ < capacity_) {
      if (filled_ == buffer_.size()) buffer_.emplace_back();
      if (source_->next(buffer_[filled_])) {
        ++filled_;
      } else {
        ended_ = true;
      }
    }
  }

  IteratorPtr source_;
  std::size_t capacity_;
  std::uint64_t seed_;
  PhiloxStream random_;
  std::vector<Element> buffer_;  // the first filled_ are waiting, the rest is memory for reuse
  std::size_t filled_ = 0;
  std::int64_t taken_ = 0;
  bool ended_ = false;
};

Order permuted(const Order* order, std::int64_t size, std::uint64_t seed, PhiloxKey key) {
  Permutation permutation(size, key);
  if (order == nullptr) return {.size = size, .at = permutation, .seed = seed};
  return {.size = order->size,
          .at = [=, at = order->at](std::int64_t i) { return permutation(at(i)); },
          .seed = order->seed ? philox_key(*order->seed, seed).value : seed};
}

}  // namespace

Transform shuffle(std::int64_t buffer, ShuffleOptions options) {
  require(buffer >= 1, "shuffle: the buffer must hold at least 1 element, got ", buffer);
  return [=](Dataset source) {
    DatasetInfo info = source.info();
    info.random_access = info.random_access && buffer >= info.cardinality;
    auto make = [=](Pass pass) -> IteratorPtr {
      std::uint64_t epoch = options.reshuffle_each_iteration ? pass.epoch : 0;
      PhiloxKey key = philox_key(pass.key(options.seed, "shuffle").value, epoch);
      if (!info.random_access)
        return std::make_unique<Reservoir>(source.iterate(pass), buffer, options.seed,
                                           PhiloxStream(key));
      pass.order =
          std::make_shared<Order>(permuted(pass.order.get(), info.cardinality, options.seed, key));
      return source.iterate(pass);
    };
    return source.then(make, info);
  };
}

}  // namespace belfry::data
