#include "belfry/data/grouping/buckets.h"

#include <map>
#include <utility>

#include "belfry/data/grouping/waiting.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

class Buckets final : public Iterator {
 public:
  Buckets(IteratorPtr source, BucketRule rule, const Pass& pass)
      : source_(std::move(source), "bucket.waiting", "bucket.read"),
        rule_(std::move(rule)),
        epoch_(pass.epoch),
        stage_(pass.name) {}

  bool next(Element& out) override {
    for (BucketIterator at = read(out); at != buckets_.end(); at = read(out)) {
      put(at->second);
      if (std::ssize(at->second.numbers) == at->second.size) return yield(at, out);
    }
    for (BucketIterator at = buckets_.begin(); at != buckets_.end(); ++at) {
      if (rule_.drop_remainder) at->second.numbers.clear();
      if (!at->second.numbers.empty()) return yield(at, out);
    }
    return false;
  }

  void position(Position& at) override {
    rule_.constants(at);
    at.field("bucket.index", index_);
    if (at.saving())
      save(at);
    else
      source_.restore(at);
  }

 private:
  using BucketIterator = std::map<std::int64_t, Bucket>::iterator;

  // Reads the next element and returns its bucket, or buckets_.end(). An Error is that element's,
  // whose name `out` gets.
  BucketIterator read(Element& out) {
    BucketIterator found = buckets_.end();
    source_.read(out, [&](const Element& element) { found = bucket_of(element); });
    return found;
  }

  BucketIterator bucket_of(const Element& element) {
    return for_element(stage_, element, [&] {
      std::int64_t key = rule_.key(element.features);
      BucketIterator known = buckets_.find(key);
      return known != buckets_.end() ? known : buckets_.emplace(key, rule_.make(key)).first;
    });
  }

  void put(Bucket& bucket) {
    std::size_t row = bucket.numbers.size();
    if (row == bucket.rows.size()) {
      bucket.rows.emplace_back();
      bucket.before.emplace_back();
    }
    std::swap(bucket.rows[row], source_.element());
    std::swap(bucket.before[row], source_.before());
    bucket.numbers.push_back(source_.number());
  }

  bool yield(BucketIterator at, Element& out) {
    Bucket& bucket = at->second;
    std::size_t rows = bucket.numbers.size();
    bucket.numbers.clear();
    out.index = index_++;
    out.epoch = epoch_;
    out.file = nullptr;
    bucket.stack.stack({bucket.rows.data(), rows}, out.features);
    // Buckets are kept for their memory, but keys may be many.
    constexpr std::size_t most = 256;
    if (buckets_.size() > most) buckets_.erase(at);
    return true;
  }

  void save(Position& at) {
    std::vector<std::int64_t> waiting;
    const Bucket* oldest = nullptr;
    for (const auto& [key, bucket] : buckets_) {
      if (bucket.numbers.empty()) continue;
      waiting.insert(waiting.end(), bucket.numbers.begin(), bucket.numbers.end());
      if (!oldest || bucket.numbers[0] < oldest->numbers[0]) oldest = &bucket;
    }
    source_.save(at, std::move(waiting), oldest ? &oldest->before[0] : nullptr);
  }

  WaitingReader source_;
  BucketRule rule_;
  std::uint64_t epoch_;
  StageName stage_;
  std::map<std::int64_t, Bucket> buckets_;  // by key
  std::int64_t index_ = 0;                  // of the next batch
};

}  // namespace

Transform bucketed(BucketRule rule) {
  return wrap(
      rule.name,
      [=](IteratorPtr source, const Pass& pass) {
        return std::make_unique<Buckets>(std::move(source), rule, pass);
      },
      [](const DatasetInfo& source) {
        bool known = source.cardinality == 0 || source.cardinality == infinite;
        return DatasetInfo{.cardinality = known ? source.cardinality : unknown};
      });
}

}  // namespace belfry::data
