#include <algorithm>
#include <deque>
#include <exception>
#include <limits>
#include <utility>

#include "belfry/data/grouping/grouping.h"
#include "belfry/data/transforms/read_ahead.h"
#include "belfry/data/transforms/rows.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

struct Waiting {
  Element element;
  std::exception_ptr error;  // in place of the element
  SourcePosition before;     // the source's, before this element; only if a window begins with it
};

// Several windows may fail for one element; each gets an Error of its own, to which whoever
// receives it may add.
[[noreturn]] void throw_again(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    throw Error(e);
  }
}

// waiting_ holds consecutive elements, the first of which begins the next window. While it is
// empty, that is the one `gap_` elements further on in the source.
class Window final : public Iterator {
 public:
  Window(IteratorPtr source, std::int64_t size, const WindowOptions& options, std::uint64_t epoch)
      : source_(std::move(source)),
        size_(size),
        span_((size - 1) * options.stride + 1),
        options_(options),
        epoch_(epoch) {}

  bool next(Element& out) override {
    if (!fill()) return false;
    out.index = index_;
    out.epoch = epoch_;
    out.file = nullptr;
    std::exception_ptr failure;
    try {
      stack(out.features);
    } catch (...) {
      failure = std::current_exception();
    }
    advance();
    if (failure) std::rethrow_exception(failure);
    return true;
  }

  std::int64_t skip(std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) {
      if (!fill()) return i;
      advance();
    }
    return count;
  }

  void position(Position& at) override {
    at.constant("window.size", size_);
    at.constant("window.shift", options_.shift);
    at.constant("window.stride", options_.stride);
    at.field("window.index", index_);
    at.field("window.gap", gap_, 0, options_.shift);
    if (at.saving() && !waiting_.empty())
      waiting_.front().before.append_to(at);
    else
      source_->position(at);
  }

 private:
  // Whether there is one more window.
  bool fill() {
    gap_ -= source_->skip(gap_);
    if (gap_ > 0) return false;
    while (!ended_ && std::ssize(waiting_) < span_) read();
    return options_.drop_remainder ? std::ssize(waiting_) == span_ : !waiting_.empty();
  }

  void read() {
    if (spare_.empty()) spare_.emplace_back();
    Waiting& fresh = spare_.back();
    fresh.error = nullptr;
    if (std::ssize(waiting_) % options_.shift == 0) fresh.before.note(*source_);
    try {
      ended_ = !source_->next(fresh.element);
    } catch (...) {
      if (is_shortage()) throw;
      fresh.error = std::current_exception();
    }
    if (ended_) return;
    waiting_.push_back(std::move(fresh));
    spare_.pop_back();
  }

  void stack(Features& out) {
    std::int64_t rows =
        std::min<std::int64_t>(size_, (std::ssize(waiting_) - 1) / options_.stride + 1);
    for (std::int64_t row = 0; row < rows; ++row) {
      const Waiting& w = waiting_[row * options_.stride];
      if (w.error) throw_again(w.error);
      const Features& features = w.element.features;
      if (row == 0) begin(features, rows, out);
      if (!matches(features, row_)) fail_unlike(row_, signature_of(features), row);
      copy_row(features, row, out);
    }
  }

  void begin(const Features& first, std::int64_t rows, Features& out) {
    if (!matches(first, row_)) row_ = signature_of(first);
    memory_.acquire(row_, rows, out);
  }

  void advance() {
    ++index_;
    for (gap_ = options_.shift; gap_ > 0 && !waiting_.empty(); --gap_) {
      spare_.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
  }

  IteratorPtr source_;
  std::int64_t size_, span_;
  WindowOptions options_;
  std::uint64_t epoch_;
  std::deque<Waiting> waiting_;
  std::vector<Waiting> spare_;  // memory for reuse
  std::int64_t index_ = 0, gap_ = 0;
  Signature row_;  // of the window in progress
  BatchMemory memory_;
  bool ended_ = false;
};

std::int64_t cardinality(std::int64_t of_source, std::int64_t span, const WindowOptions& options) {
  if (of_source < 0) return of_source;
  std::int64_t last =
      options.drop_remainder ? of_source - span : of_source - 1;  // first of a window
  return last < 0 ? 0 : last / options.shift + 1;
}

}  // namespace

Transform window(std::int64_t size, WindowOptions options) {
  require(size >= 1, "window: size must be at least 1, got ", size);
  require(options.shift >= 0, "window: shift must be at least 0, got ", options.shift);
  require(options.stride >= 1, "window: stride must be at least 1, got ", options.stride);
  require(size - 1 <= (std::numeric_limits<std::int64_t>::max() - 1) / options.stride,
          "window: ", size, " elements at a stride of ", options.stride, " are too many");
  if (options.shift == 0) options.shift = size;
  std::int64_t span = (size - 1) * options.stride + 1;
  return wrap(
      "window",
      [=](IteratorPtr source, const Pass& pass) {
        return std::make_unique<Window>(std::move(source), size, options, pass.epoch);
      },
      [=](const DatasetInfo& source) {
        return DatasetInfo{.cardinality = cardinality(source.cardinality, span, options),
                           .whole = true};
      });
}

}  // namespace belfry::data
