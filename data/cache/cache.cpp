// cache in memory: elements by their place in the dataset.

#include "belfry/data/cache/cache.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "belfry/data/budget.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/mutex.h"

namespace belfry::data {
namespace {

Element copy_of(const Element& element) {
  Element out;
  copy_name(element, out);
  for (const auto& [name, array] : element.features) out.features.set(name, array.clone());
  return out;
}

// The elements that one pipeline has of the dataset, by their places in its part.
class Store {
 public:
  explicit Store(std::shared_ptr<Budget> budget) : budget_(std::move(budget)) {}

  // Null if it is not there. What is there stays, unchanged.
  std::shared_ptr<const Element> find(std::int64_t number) const {
    MutexLock lock(mutex_);
    auto found = elements_.find(number);
    return found == elements_.end() ? nullptr : found->second;
  }

  void keep(std::int64_t number, const Element& element) {
    std::int64_t bytes = 256;  // what the bookkeeping of an element takes
    for (const auto& [name, array] : element.features) bytes += array.bytes();
    if (find(number) || !budget_->reserve(bytes)) return;
    bool kept = false;
    try {
      auto copy = std::make_shared<const Element>(copy_of(element));
      MutexLock lock(mutex_);
      kept = elements_.emplace(number, std::move(copy)).second;
    } catch (const std::exception&) {  // no memory: then it is computed again
    }
    if (!kept) budget_->give_back(bytes);
  }

  // Elements in a pass, once one has come to its end; until then more than there are.
  std::int64_t size() const { return size_; }
  void set_size(std::int64_t size) { size_ = size; }

 private:
  mutable Mutex mutex_;
  std::unordered_map<std::int64_t, std::shared_ptr<const Element>> elements_
      BELFRY_GUARDED_BY(mutex_);
  std::shared_ptr<Budget> budget_;
  std::atomic<std::int64_t> size_ = std::numeric_limits<std::int64_t>::max();
};

// Pipelines that share the data differently have different parts of it.
class Stores {
 public:
  explicit Stores(Bytes limit) : budget_(std::make_shared<Budget>(limit.count)) {}

  std::shared_ptr<Store> of(const Shard& shard) {
    MutexLock lock(mutex_);
    auto& store = stores_[{shard.count, shard.index, shard.policy}];
    if (!store) store = std::make_shared<Store>(budget_);
    return store;
  }

 private:
  std::shared_ptr<Budget> budget_;
  Mutex mutex_;
  std::map<std::tuple<int, int, ShardPolicy>, std::shared_ptr<Store>> stores_
      BELFRY_GUARDED_BY(mutex_);
};

class Cached final : public Iterator {
 public:
  Cached(IteratorPtr source, std::shared_ptr<Store> store, const Pass& pass)
      : source_(std::move(source)),
        store_(std::move(store)),
        order_(pass.order),
        stop_(pass.stop),
        epoch_(pass.epoch) {}

  bool next(Element& out) override {
    if (next_ == (order_ ? order_->size : store_->size())) return false;
    std::int64_t number = order_ ? order_->at(next_) : next_;
    auto known = store_->find(number);
    ++next_;  // also when it fails
    if (known) {
      ++behind_;
      put(*known, out);
    } else {
      catch_up();
      if (!source_->next(out)) {
        --next_;
        if (!stop_.stop_requested()) store_->set_size(next_);
        return false;
      }
      // A stop may have cut short what is computed from several elements.
      if (!stop_.stop_requested()) store_->keep(number, out);
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
    if (order_) at.constant("cache.size", order_->size);
    if (order_ && order_->seed) at.constant("shuffle.seed", *order_->seed);
    at.field("cache.next", next_, 0, order_ ? order_->size : store_->size());
    if (!at.saving()) behind_ = next_;
  }

 private:
  static void put(const Element& known, Element& out) {
    copy_name(known, out);
    prepare(out.features, signature_of(known.features));
    auto target = out.features.begin();
    for (const auto& [name, array] : known.features) {
      auto from = array.raw_bytes();
      std::copy(from.begin(), from.end(), (target++)->second.raw_bytes().begin());
    }
  }

  // The source is passed over elements that came from the store only when it is needed.
  void catch_up() {
    std::int64_t behind = std::exchange(behind_, 0), skipped = source_->skip(behind);
    require(skipped == behind || stop_.stop_requested(), "cache: ", behind - skipped, " of ", next_,
            " elements are not there any more; were the input pipeline or its data changed?");
  }

  IteratorPtr source_;
  std::shared_ptr<Store> store_;
  std::shared_ptr<const Order> order_;
  std::stop_token stop_;
  std::uint64_t epoch_;
  std::int64_t next_ = 0, behind_ = 0;
};

}  // namespace

Transform cache(CacheOptions options) {
  return [=](Dataset source) {
    auto stores = std::make_shared<Stores>(options.memory);
    auto make = [=](const Pass& pass) {
      // Elements are the same wherever and whenever they are read, in the cache or not.
      Pass inside = pass;
      inside.epoch = 0;
      inside.branch = 0;
      return std::make_unique<Cached>(source.iterate(inside), stores->of(pass.shard), pass);
    };
    DatasetInfo info = same_elements(source.info());
    info.whole = info.random_access;  // an order has places of the whole
    return Dataset("cache", {source}, make, info);
  };
}

}  // namespace belfry::data
