// cache in memory: elements by their place in the dataset.

#include "belfry/data/cache.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

Element copy_of(const Element& element) {
  Element out{.features = {}, .index = element.index, .epoch = element.epoch};
  for (const auto& [name, array] : element.features) out.features.set(name, array.clone());
  return out;
}

class Store {
 public:
  explicit Store(Bytes limit) : left_(limit.count) {}

  // Null if it is not there. What is there stays, unchanged.
  std::shared_ptr<const Element> find(std::int64_t place) const {
    std::lock_guard lock(mutex_);
    auto found = elements_.find(place);
    return found == elements_.end() ? nullptr : found->second;
  }

  void keep(std::int64_t place, const Element& element) {
    std::int64_t bytes = 256;  // what the bookkeeping of an element takes
    for (const auto& [name, array] : element.features) bytes += array.bytes();
    {
      std::lock_guard lock(mutex_);
      if (bytes > left_ || elements_.contains(place)) return;
      left_ -= bytes;
    }
    auto copy = std::make_shared<const Element>(copy_of(element));
    std::lock_guard lock(mutex_);
    elements_.emplace(place, std::move(copy));
  }

  // Elements in a pass, once one has come to its end; until then more than there are.
  std::int64_t size() const { return size_; }
  void set_size(std::int64_t size) { size_ = size; }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::int64_t, std::shared_ptr<const Element>> elements_;  // guarded
  std::int64_t left_;                                                          // guarded
  std::atomic<std::int64_t> size_ = std::numeric_limits<std::int64_t>::max();
};

class Cached final : public Iterator {
 public:
  Cached(IteratorPtr source, std::shared_ptr<Store> store, const Pass& pass)
      : source_(std::move(source)),
        store_(std::move(store)),
        order_(pass.order),
        epoch_(pass.epoch) {}

  bool next(Element& out) override {
    if (next_ == (order_ ? order_->size : store_->size())) return false;
    std::int64_t place = order_ ? order_->at(next_) : next_;
    auto known = store_->find(place);
    ++next_;  // also when it fails
    if (known) {
      ++behind_;
      put(*known, out);
    } else {
      catch_up();
      if (!source_->next(out)) {
        store_->set_size(--next_);
        return false;
      }
      store_->keep(place, out);
    }
    out.epoch = epoch_;
    return true;
  }

  std::int64_t skip(std::int64_t count) override {
    catch_up();
    std::int64_t skipped = source_->skip(count);
    next_ += skipped;
    return skipped;
  }

  void position(Position& at) override {
    at.field("cache.next", next_);
    if (!at.saving()) behind_ = next_;
  }

 private:
  static void put(const Element& known, Element& out) {
    out.index = known.index;
    prepare(out.features, signature_of(known.features));
    auto target = out.features.begin();
    for (const auto& [name, array] : known.features) {
      auto from = array.raw_bytes();
      std::copy(from.begin(), from.end(), (target++)->second.raw_bytes().begin());
    }
  }

  // The source is passed over elements that came from the store only when it is needed.
  void catch_up() { source_->skip(std::exchange(behind_, 0)); }

  IteratorPtr source_;
  std::shared_ptr<Store> store_;
  std::shared_ptr<const Order> order_;
  std::uint64_t epoch_;
  std::int64_t next_ = 0, behind_ = 0;
};

}  // namespace

Transform cache(CacheOptions options) {
  return [=](Dataset source) {
    auto store = std::make_shared<Store>(options.memory);
    auto make = [=](const Pass& pass) {
      Pass inside = pass;
      inside.epoch = 0;
      // A shard of a stream numbers its own elements.
      auto of_pass = pass.shard.count > 1 && !source.info().random_access
                         ? std::make_shared<Store>(options.memory)
                         : store;
      return std::make_unique<Cached>(source.iterate(inside), of_pass, pass);
    };
    return Dataset("cache", {source}, make, same_elements(source.info()));
  };
}

}  // namespace belfry::data
