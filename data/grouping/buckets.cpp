#include "belfry/data/grouping/buckets.h"

#include <algorithm>
#include <map>
#include <utility>

#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

// Elements are numbered as the source yields them. A restored position begins at the oldest that
// waited, number 0: of the first `replayed_` elements it takes those in `replay_` and skips the
// others, which were yielded (or failed) before the position was saved.
class Buckets final : public Iterator {
 public:
  Buckets(IteratorPtr source, BucketRule rule, const Pass& pass)
      : source_(std::move(source)), rule_(std::move(rule)), epoch_(pass.epoch), stage_(pass.name) {}

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
    if (at.saving()) {
      save(at);
      return;
    }
    at.list("bucket.waiting", replay_);
    at.field("bucket.read", replayed_);
    source_->position(at);
  }

 private:
  using BucketIterator = std::map<std::int64_t, Bucket>::iterator;

  // Reads the next element into fresh_ and returns its bucket, or buckets_.end(). An Error is that
  // element's, whose name `out` gets.
  BucketIterator read(Element& out) {
    pass_over_yielded();
    fresh_before_.note(*source_);
    ++number_;          // also if it fails
    fresh_.index = -1;  // not the name of an older element
    fresh_.file = nullptr;
    try {
      if (source_->next(fresh_)) return bucket_of(fresh_);
    } catch (...) {
      copy_name(fresh_, out);
      throw;
    }
    --number_;
    return buckets_.end();
  }

  void pass_over_yielded() {
    if (number_ >= replayed_) return;
    while (next_replay_ < replay_.size() && replay_[next_replay_] < number_) ++next_replay_;
    std::int64_t until = next_replay_ < replay_.size() ? replay_[next_replay_] : replayed_;
    number_ += source_->skip(until - number_);
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
    std::swap(bucket.rows[row], fresh_);
    std::swap(bucket.before[row], fresh_before_);
    bucket.numbers.push_back(number_ - 1);
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
    std::vector<std::int64_t> waiting(replay_.begin() + next_replay_, replay_.end());
    std::erase_if(waiting, [&](std::int64_t number) { return number < number_; });
    const SourcePosition* before = nullptr;  // null: the source stands where it has to
    std::int64_t first = number_;
    for (const auto& [key, bucket] : buckets_) {
      waiting.insert(waiting.end(), bucket.numbers.begin(), bucket.numbers.end());
      if (bucket.numbers.empty() || bucket.numbers[0] >= first) continue;
      first = bucket.numbers[0];
      before = &bucket.before[0];
    }
    std::sort(waiting.begin(), waiting.end());
    for (std::int64_t& number : waiting) number -= first;
    std::int64_t read = std::max(number_, replayed_) - first;
    at.list("bucket.waiting", waiting);
    at.field("bucket.read", read);
    if (before)
      before->append_to(at);
    else
      source_->position(at);
  }

  IteratorPtr source_;
  BucketRule rule_;
  std::uint64_t epoch_;
  StageName stage_;
  std::map<std::int64_t, Bucket> buckets_;  // by key
  Element fresh_;
  SourcePosition fresh_before_;
  std::int64_t index_ = 0, number_ = 0;  // of the next batch, of the source's next element
  std::vector<std::int64_t> replay_;
  std::int64_t replayed_ = 0;
  std::size_t next_replay_ = 0;
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
