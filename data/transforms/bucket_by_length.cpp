#include <algorithm>
#include <functional>
#include <utility>

#include "belfry/data/grouping.h"
#include "belfry/data/transforms/padding.h"
#include "belfry/data/transforms/read_ahead.h"
#include "belfry/framework/base/crc32c.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

using Length = std::function<std::int64_t(const Features&)>;

// Elements of similar length that wait for their batch.
struct Bucket {
  std::int64_t size;  // of a batch
  PaddedStack stack;
  std::vector<Element> rows = {};  // the first `numbers.size()` wait, the rest is memory for reuse
  std::vector<std::int64_t> numbers = {};  // of those, in the order of the source
  std::vector<Place> before = {};          // where the source stood before each of `rows`
};

// Elements are numbered as the source yields them. A restored position begins at the oldest that
// waited, number 0: of the first `replayed_` elements it takes those in `replay_` and skips the
// others, which were yielded (or failed) before the position was saved.
class BucketByLength final : public Iterator {
 public:
  BucketByLength(IteratorPtr source, Length length, const BucketOptions& options,
                 std::uint64_t epoch)
      : source_(std::move(source)),
        length_(std::move(length)),
        boundaries_(options.boundaries),
        drop_remainder_(options.padded.drop_remainder),
        bounded_(!options.pad_to_boundary.empty()),
        epoch_(epoch) {
    for (std::size_t b = 0; b < options.batch_sizes.size(); ++b) {
      PaddedBatchOptions padded = options.padded;
      if (b < boundaries_.size())
        for (const std::string& name : options.pad_to_boundary) {
          std::vector<std::int64_t>& sizes = padded.pad_to[name];
          sizes.resize(std::max<std::size_t>(sizes.size(), 1), -1);
          sizes[0] = boundaries_[b] - 1;
        }
      buckets_.push_back({options.batch_sizes[b], PaddedStack(padded, "bucket_by_length")});
    }
  }

  bool next(Element& out) override {
    while (Bucket* bucket = read(out)) {
      put(*bucket);
      if (std::ssize(bucket->numbers) == bucket->size) return yield(*bucket, out);
    }
    for (Bucket& bucket : buckets_) {
      if (drop_remainder_) bucket.numbers.clear();
      if (!bucket.numbers.empty()) return yield(bucket, out);
    }
    return false;
  }

  void position(Position& at) override {
    at.constant("bucket.boundaries", crc32c(std::as_bytes(std::span(boundaries_))));
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
  // Reads the next element into fresh_ and returns its bucket, or null at the end. An Error is that
  // element's, whose name `out` gets.
  Bucket* read(Element& out) {
    pass_over_yielded();
    fresh_before_.note(*source_);
    ++number_;          // also if it fails
    fresh_.index = -1;  // not the name of an older element
    fresh_.file = nullptr;
    try {
      if (source_->next(fresh_)) return &bucket_of(fresh_);
    } catch (...) {
      copy_name(fresh_, out);
      throw;
    }
    --number_;
    return nullptr;
  }

  void pass_over_yielded() {
    if (number_ >= replayed_) return;
    while (next_replay_ < replay_.size() && replay_[next_replay_] < number_) ++next_replay_;
    std::int64_t until = next_replay_ < replay_.size() ? replay_[next_replay_] : replayed_;
    number_ += source_->skip(until - number_);
  }

  Bucket& bucket_of(const Element& element) {
    return for_element("bucket_by_length", element, [&]() -> Bucket& {
      std::int64_t length = length_(element.features);
      auto above = std::upper_bound(boundaries_.begin(), boundaries_.end(), length);
      require(!bounded_ || above != boundaries_.end(), "bucket_by_length: the length ", length,
              " is not below the last boundary, to which pad_to_boundary pads");
      return buckets_[static_cast<std::size_t>(above - boundaries_.begin())];
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

  bool yield(Bucket& bucket, Element& out) {
    std::size_t rows = bucket.numbers.size();
    bucket.numbers.clear();
    out.index = index_++;
    out.epoch = epoch_;
    out.file = nullptr;
    bucket.stack.stack({bucket.rows.data(), rows}, out.features);
    return true;
  }

  void save(Position& at) {
    std::vector<std::int64_t> waiting(replay_.begin() + static_cast<std::ptrdiff_t>(next_replay_),
                                      replay_.end());
    std::erase_if(waiting, [&](std::int64_t number) { return number < number_; });
    const Place* before = nullptr;  // null: the source stands where it has to
    std::int64_t first = number_;
    for (const Bucket& bucket : buckets_) {
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
  Length length_;
  std::vector<std::int64_t> boundaries_;
  bool drop_remainder_, bounded_;
  std::uint64_t epoch_;
  std::vector<Bucket> buckets_;
  Element fresh_;
  Place fresh_before_;
  std::int64_t index_ = 0, number_ = 0;  // of the next batch, of the source's next element
  std::vector<std::int64_t> replay_;
  std::int64_t replayed_ = 0;
  std::size_t next_replay_ = 0;
};

void check(const BucketOptions& options) {
  const auto& boundaries = options.boundaries;
  require(std::adjacent_find(boundaries.begin(), boundaries.end(), std::greater_equal<>())
              == boundaries.end(),
          "bucket_by_length: boundaries must rise, got ", join(boundaries, ", "));
  require(options.batch_sizes.size() == boundaries.size() + 1,
          "bucket_by_length: ", boundaries.size(), " boundaries make ", boundaries.size() + 1,
          " buckets, but there are ", options.batch_sizes.size(), " batch sizes");
  for (std::int64_t size : options.batch_sizes)
    require(size >= 1, "bucket_by_length: batch sizes must be at least 1, got ", size);
  std::int64_t lowest = boundaries.empty() ? 1 : boundaries[0];
  require(lowest >= 1 || options.pad_to_boundary.empty(),
          "bucket_by_length: pad_to_boundary needs boundaries of at least 1, got ", lowest);
  PaddedStack(options.padded, "bucket_by_length");  // checks them
}

}  // namespace

Transform bucket_by_length(Length length, BucketOptions options) {
  require(length != nullptr, "bucket_by_length: the function is empty");
  check(options);
  return wrap(
      "bucket_by_length",
      [=](IteratorPtr source, const Pass& pass) {
        return std::make_unique<BucketByLength>(std::move(source), length, options, pass.epoch);
      },
      [](const DatasetInfo& source) {
        bool known = source.cardinality == 0 || source.cardinality == infinite;
        return DatasetInfo{.cardinality = known ? source.cardinality : unknown};
      });
}

Transform bucket_by_length(std::string feature, BucketOptions options) {
  auto length = [feature = std::move(feature)](const Features& element) {
    const Array& array = element.at(feature);
    require(array.shape().rank() >= 1, "bucket_by_length: `", feature,
            "` is a scalar and has no length");
    return array.shape()[0];
  };
  return bucket_by_length(Length(length), std::move(options));
}

}  // namespace belfry::data
