#include <limits>
#include <utility>

#include "belfry/data/transforms/transforms.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

constexpr std::int64_t for_ever = std::numeric_limits<std::int64_t>::max();

class Repeat final : public Iterator {
 public:
  Repeat(Dataset source, std::int64_t count, const Pass& pass)
      : source_(std::move(source)), count_(count), pass_(pass) {}

  bool next(Element& out) override {
    while (done_ < count_ && !pass_.stop.stop_requested()) {
      if (!iterator_) open();
      bool before = std::exchange(seen_, true);  // also if it fails
      if (iterator_->next(out)) return true;
      seen_ = before;
      if (pass_.stop.stop_requested()) break;
      end_pass();
    }
    return false;
  }

  std::int64_t skip(std::int64_t n) override {
    std::int64_t skipped = 0;
    while (skipped < n && done_ < count_ && !pass_.stop.stop_requested()) {
      if (!iterator_) open();
      std::int64_t here = iterator_->skip(n - skipped);
      seen_ = seen_ || here > 0;
      skipped += here;
      if (skipped < n) end_pass();
    }
    return skipped;
  }

  void position(Position& at) override {
    at.field("repeat.done", done_, 0, count_);
    at.field("repeat.seen", seen_);
    if (done_ == count_) return;
    if (!iterator_ || !at.saving()) open();
    iterator_->position(at);
  }

 private:
  // A pass that gave nothing will give nothing the next time either.
  void end_pass() {
    done_ = seen_ ? done_ + 1 : count_;
    seen_ = false;
    iterator_.reset();
  }

  void open() {
    Pass pass = pass_;
    // Repeats may be nested: every pass of the innermost gets random numbers of its own.
    if (count_ != for_ever) {
      pass.epoch *= count_;
    } else if (pass.epoch > 0) {
      pass.branch = philox_key(pass.branch + 1, pass.epoch).value;
      pass.epoch = 0;
    }
    pass.epoch += done_;
    try {
      iterator_ = source_.iterate(pass);
    } catch (...) {  // nor would the next pass begin
      done_ = count_;
      throw;
    }
  }

  Dataset source_;
  std::int64_t count_, done_ = 0;
  bool seen_ = false;  // the pass in progress has yielded an element
  Pass pass_;
  IteratorPtr iterator_;
};

std::int64_t cardinality(std::int64_t of_source, std::int64_t count) {
  if (of_source == 0 || count == 0) return 0;
  if (of_source == unknown) return unknown;
  if (of_source == infinite || of_source > for_ever / count || count == for_ever) return infinite;
  return of_source * count;
}

Transform times(std::int64_t count) {
  return [=](Dataset source) {
    auto make = [=](const Pass& pass) { return std::make_unique<Repeat>(source, count, pass); };
    return Dataset("repeat", {source}, make,
                   {.cardinality = cardinality(source.cardinality(), count)});
  };
}

}  // namespace

Transform repeat() { return times(for_ever); }

Transform repeat(std::int64_t count) {
  require(count >= 0, "repeat: count must be at least 0, got ", count,
          "; repeat() without a count goes on for ever");
  return times(count);
}

}  // namespace belfry::data
