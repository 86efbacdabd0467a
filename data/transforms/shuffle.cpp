#include <algorithm>
#include <exception>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "belfry/data/transforms/permutation.h"
#include "belfry/data/transforms/transforms.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

// An element, or what was thrown in its place: that is shuffled with the others, so that the order
// depends on numbers alone.
struct Waiting {
  Element element;
  std::exception_ptr error;

  bool read(Iterator& source) {
    error = nullptr;
    try {
      return source.next(element);
    } catch (...) {
      if (is_shortage()) throw;
      error = std::current_exception();
      return true;
    }
  }
};

constexpr std::int64_t endless = std::numeric_limits<std::int64_t>::max();

class Reservoir final : public Iterator {
 public:
  Reservoir(Dataset source, const Pass& pass, std::int64_t capacity, std::uint64_t seed,
            PhiloxKey key)
      : dataset_(std::move(source)),
        pass_(pass),
        source_(dataset_.iterate(pass_)),
        capacity_(capacity),
        seed_(seed),
        key_(key),
        random_(key) {}

  bool next(Element& out) override {
    fill();
    if (filled_ == 0) return false;
    ++taken_;
    Waiting& picked = buffer_[pick(filled_)];
    std::swap(out, picked.element);
    std::exception_ptr error = picked.error;
    std::swap(picked, buffer_[--filled_]);
    if (error) std::rethrow_exception(error);
    return true;
  }

  void position(Position& at) override {
    std::int64_t taken = taken_;
    at.field("shuffle.taken", taken);
    at.constant("shuffle.seed", seed_);
    at.constant("shuffle.buffer", capacity_);
    if (at.saving() || taken == 0) return;
    std::int64_t count = expected_count(taken);
    for (int tries = 0; tries < 2; ++tries) {
      require(taken <= count, "input: the saved position is element ", taken,
              " of shuffled data that now end after ", count);
      std::int64_t found = jump(taken, count);
      if (found == count) return;
      count = found;
      source_ = dataset_.iterate(pass_);
    }
    fail("input: shuffled data have another number of elements each time that they are read");
  }

 private:
  void fill() {
    while (!ended_ && filled_ < capacity_) {
      if (filled_ == buffer_.size()) buffer_.emplace_back();
      if (buffer_[filled_].read(*source_)) {
        ++filled_;
      } else {
        ended_ = true;
      }
    }
  }

  std::size_t pick(std::size_t count) { return random_.below(count); }

  // Elements in the pass: endless unless it says how many, or `taken` or the buffer is too large to
  // assume that there are so many. An Error for one too many may come behind those it says.
  std::int64_t expected_count(std::int64_t taken) {
    constexpr std::int64_t moderate = 1 << 20, many = 1 << 26;
    std::int64_t capacity = capacity_, said = dataset_.cardinality();
    if (said >= 0 && pass_.shard.count == 1) return taken == said + 1 ? taken : said;
    if (capacity <= moderate && (taken <= many || said == infinite)) return endless;
    std::int64_t enough = capacity < endless - taken ? capacity + taken : endless;
    std::int64_t count = source_->skip(enough);
    source_ = dataset_.iterate(pass_);
    return count < enough ? count : endless;
  }

  // The numbers of the elements that wait, by entry, once `taken` of `count` have been handed out;
  // `read` is how many have been read by then.
  std::vector<std::int64_t> waiting_after(std::int64_t taken, std::int64_t count,
                                          std::int64_t& read) {
    read = std::min(static_cast<std::int64_t>(capacity_), count);
    std::vector<std::int64_t> waiting(read);
    std::iota(waiting.begin(), waiting.end(), std::int64_t{0});
    for (std::int64_t i = 0; i < taken; ++i) {
      if (i > 0 && read < count) waiting.push_back(read++);
      std::swap(waiting[pick(waiting.size())], waiting.back());
      waiting.pop_back();
    }
    return waiting;
  }

  // Goes to where `taken` of `count` elements have been handed out, reading none of those. Returns
  // how many elements there are if they end before what should have been read, or behind `count`
  // where all of these should have been; else `count`.
  std::int64_t jump(std::int64_t taken, std::int64_t count) {
    random_ = PhiloxStream(key_);
    std::int64_t last = 0;
    std::vector<std::int64_t> waiting = waiting_after(taken, count, last);
    std::vector<std::size_t> by_number(waiting.size());
    std::iota(by_number.begin(), by_number.end(), std::size_t{0});
    std::sort(by_number.begin(), by_number.end(),
              [&](std::size_t a, std::size_t b) { return waiting[a] < waiting[b]; });
    buffer_.resize(waiting.size());
    std::int64_t read = 0;
    for (std::size_t entry : by_number) {
      read += source_->skip(waiting[entry] - read);
      if (read < waiting[entry] || !buffer_[entry].read(*source_)) return read;
      ++read;
    }
    read += source_->skip(last - read);
    if (read < last) return read;
    if (last == count) {
      read += source_->skip(endless);
      if (read > count) return read;
      ended_ = true;
    }
    filled_ = waiting.size();
    taken_ = taken;
    return count;
  }

  Dataset dataset_;
  Pass pass_;
  IteratorPtr source_;
  std::size_t capacity_;
  std::uint64_t seed_;
  PhiloxKey key_;
  PhiloxStream random_;
  std::vector<Waiting> buffer_;  // the first filled_ are waiting, the rest is memory for reuse
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
    DatasetInfo info = same_elements(source.info());
    info.random_access = info.random_access && buffer >= info.cardinality;
    constexpr std::int64_t most = std::int64_t{1} << 40;
    require(info.random_access || buffer <= most, "shuffle: a buffer of ", buffer,
            " elements is too large: ", source.name(),
            " has no random access, so that they would be held in memory; take at most ", most);
    auto make = [=](Pass pass) -> IteratorPtr {
      std::uint64_t epoch = options.reshuffle_each_iteration ? pass.epoch : 0;
      PhiloxKey key = philox_key(pass.key(options.seed, "shuffle").value, epoch);
      if (!info.random_access)
        return std::make_unique<Reservoir>(source, pass, buffer, options.seed, key);
      pass.order =
          std::make_shared<Order>(permuted(pass.order.get(), info.cardinality, options.seed, key));
      return source.iterate(pass);
    };
    return Dataset("shuffle", {source}, make, info);
  };
}

}  // namespace belfry::data
