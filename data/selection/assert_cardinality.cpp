#include <algorithm>
#include <limits>

#include "belfry/data/selection/selection.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

std::string text_of(std::int64_t count) {
  return count == infinite ? "no end" : concat(count, count == 1 ? " element" : " elements");
}

class AssertCardinality final : public Iterator {
 public:
  // A `part` of the elements may be any smaller number.
  AssertCardinality(IteratorPtr source, std::int64_t count, bool part, const Pass& pass)
      : source_(std::move(source)),
        count_(count),
        most_(count == infinite ? std::numeric_limits<std::int64_t>::max() : count),
        part_(part),
        stop_(pass.stop),
        epoch_(pass.epoch) {}

  bool next(Element& out) override {
    if (broken_) return false;
    if (seen_ == most_) {
      if (source_->skip(1) == 0) return false;
      fail_once(concat("at least ", text_of(seen_ + 1)), out);
    }
    ++seen_;  // also if it fails
    if (source_->next(out)) return true;
    --seen_;
    if (!part_ && !stop_.stop_requested()) fail_once(text_of(seen_), out);
    return false;
  }

  std::int64_t skip(std::int64_t count) override {
    if (broken_) return 0;
    std::int64_t skipped = source_->skip(std::min(count, most_ - seen_));
    seen_ += skipped;
    return skipped == count ? count : skipped + Iterator::skip(count - skipped);
  }

  void position(Position& at) override {
    at.field("assert_cardinality.seen", seen_, 0, most_);
    at.field("assert_cardinality.broken", broken_);
    source_->position(at);
  }

 private:
  [[noreturn]] void fail_once(const std::string& got, Element& out) {
    broken_ = true;
    out.index = seen_;
    out.epoch = epoch_;
    out.file = nullptr;
    fail("assert_cardinality: expected ", text_of(count_), ", got ", got);
  }

  IteratorPtr source_;
  std::int64_t count_, most_, seen_ = 0;
  bool part_, broken_ = false;
  std::stop_token stop_;
  std::uint64_t epoch_;
};

}  // namespace

Transform assert_cardinality(std::int64_t count) {
  require(count >= 0 || count == infinite, "assert_cardinality: expected a count or ",
          "data::infinite, got ", count);
  return [=](Dataset source) {
    std::int64_t known = source.cardinality();
    require(known == count || known == unknown, "assert_cardinality: expected ", text_of(count),
            ", but ", source.name(), " has ", text_of(known));
    if (known == count) return source;
    auto make = [=](const Pass& pass) {
      bool part = pass.shard.count > 1 && pass.shard.policy != ShardPolicy::off;
      return std::make_unique<AssertCardinality>(source.iterate(pass), count, part, pass);
    };
    return Dataset("assert_cardinality", {source}, make, {.cardinality = count});
  };
}

}  // namespace belfry::data
