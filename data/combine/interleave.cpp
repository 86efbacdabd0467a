#include "belfry/data/combine/interleave.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "belfry/data/combine/reader_pool.h"
#include "belfry/data/scheduler.h"
#include "belfry/data/transforms/named.h"
#include "belfry/data/transforms/read_ahead.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/linked_stop.h"

namespace belfry::data {
namespace {

// The dataset of one element of the source, the outer element.
struct Inner {
  std::int64_t number = 0;  // of the outer element, in the order of the source
  std::string outer;        // its name, for messages
  SourcePosition before;    // the source's, before it
  IteratorPtr elements;
  std::exception_ptr error;  // why there are none
};

using InnerPtr = std::unique_ptr<Inner>;

class Interleave final : public Iterator {
 public:
  Interleave(std::string name, IteratorPtr source, MakeDataset function,
             const InterleaveOptions& options, const Pass& pass)
      : name_(std::move(name)),
        source_(std::move(source)),
        function_(std::move(function)),
        options_(options),
        pass_(pass),
        stop_(pass.stop) {
    std::int64_t workers = options.workers;
    if (workers == autotune)
      workers = std::min<std::int64_t>(pass.scheduler->threads(), options.cycle_length);
    if (workers == 1) return;
    read_ahead_ = workers;
    pass_.stop = stop_.token();
    pool_.emplace(static_cast<int>(workers), pass);
  }
  ~Interleave() override { stop_.request(); }

  bool next(Element& out) override {
    Named named(out, index_, pass_.epoch);
    if (!reading_ahead_) begin_reading_ahead();
    while (Inner* inner = current()) {
      if (read(*inner, out)) return true;
      close();
    }
    return false;
  }

  std::int64_t skip(std::int64_t count) override {
    std::int64_t skipped = 0;
    while (skipped < count) {
      Inner* inner = nullptr;
      bool opened = false;
      unasked([&] {
        inner = current();
        return opened = true;
      });
      if (!opened) {  // an element that failed
        ++skipped;
        continue;
      }
      if (!inner) break;
      std::int64_t most = std::min(count - skipped, options_.block_length - block_);
      std::int64_t here = inner->elements->skip(most);
      skipped += here;
      index_ += here;
      block_ += here;
      if (here < most)
        close();
      else if (block_ == options_.block_length)
        end_turn();
    }
    return skipped;
  }

  void position(Position& at) override { at.saving() ? save(at) : restore(at); }

 private:
  // The dataset whose turn it is, or null at the end. Error: an outer element that has none.
  Inner* current() {
    while (!source_ended_ || open_ > 0) {
      if (cycle_ == std::ssize(entries_)) {  // entries beyond were never filled
        if (source_ended_)
          cycle_ = 0;
        else
          entries_.emplace_back();
      }
      InnerPtr& entry = entries_[cycle_];
      if (entry) return entry.get();
      if (source_ended_)
        end_turn();
      else
        fill(entry);
    }
    return nullptr;
  }

  bool read(Inner& inner, Element& out) {
    ++index_;  // also if the element fails
    bool more = false;
    try {
      more = inner.elements->next(out);
    } catch (Error& error) {
      count();
      error.add_context("in the dataset of " + inner.outer);
      throw;
    } catch (...) {
      count();
      throw;
    }
    if (more)
      count();
    else
      --index_;
    return more;
  }

  void count() {
    if (++block_ == options_.block_length) end_turn();
  }

  void end_turn() {
    block_ = 0;
    cycle_ = (cycle_ + 1) % options_.cycle_length;
  }

  void close() {
    entries_[cycle_].reset();
    --open_;
    end_turn();
  }

  void fill(InnerPtr& entry) {
    read_ahead();
    InnerPtr inner;
    if (!ahead_.empty()) {
      inner = std::move(ahead_.front());
      ahead_.pop_front();
    } else {
      inner = read_outer();
    }
    source_ended_ = !inner;
    if (!inner) return;
    if (inner->error) std::rethrow_exception(inner->error);
    entry = std::move(inner);
    ++open_;
  }

  // Not before the first element is asked for: those that are skipped are not to be computed.
  void begin_reading_ahead() {
    reading_ahead_ = true;
    for (InnerPtr& inner : entries_)
      if (inner) start_reading(*inner);
  }

  void read_ahead() {
    while (reading_ahead_ && std::ssize(ahead_) < read_ahead_) {
      InnerPtr inner = read_outer();
      if (!inner) return;
      start_reading(*inner);
      ahead_.push_back(std::move(inner));
    }
  }

  void start_reading(Inner& inner) {
    constexpr std::int64_t most = 64;  // elements
    std::int64_t elements = options_.block_length < most / 2 ? 2 * options_.block_length : most;
    if (pool_ && reading_ahead_ && inner.elements)
      inner.elements = pool_->read_ahead(std::move(inner.elements), elements);
  }

  // Null at the end of the source.
  InnerPtr read_outer() {
    auto inner = std::make_unique<Inner>();
    inner->before.note(*source_);
    inner->number = outer_++;
    try {
      if (!source_->next(element_)) {
        --outer_;
        return nullptr;
      }
      inner->outer = to_string(element_);
      inner->elements = for_element(pass_.name, element_, [&] {
        Dataset dataset = function_(std::move(element_.features));
        return dataset.iterate(pass_.inner(inner->number));
      });
    } catch (...) {
      if (is_shortage()) throw;
      inner->error = std::current_exception();
    }
    return inner;
  }

  void save(Position& at) {
    std::int64_t next = ahead_.empty() ? outer_ : ahead_.front()->number;
    const SourcePosition* before = ahead_.empty() ? nullptr : &ahead_.front()->before;
    std::int64_t oldest = next;
    for (const InnerPtr& inner : entries_) {
      if (!inner || inner->number >= oldest) continue;
      oldest = inner->number;
      before = &inner->before;
    }
    std::vector<std::int64_t> open;
    for (const InnerPtr& inner : entries_) open.push_back(inner ? inner->number - oldest + 1 : 0);
    std::int64_t since = next - oldest;
    fields(at, oldest, since, open);
    if (before)
      before->append_to(at);
    else
      source_->position(at);
    for (InnerPtr& inner : entries_)
      if (inner) inner->elements->position(at);
  }

  void restore(Position& at) {
    std::int64_t since = 0;
    std::vector<std::int64_t> open;
    fields(at, outer_, since, open);
    source_->position(at);
    entries_.resize(open.size());
    std::vector<std::pair<std::int64_t, std::size_t>> by_age;  // number from outer_ on, entry
    for (std::size_t entry = 0; entry < open.size(); ++entry)
      if (open[entry] > 0) by_age.emplace_back(outer_ + open[entry] - 1, entry);
    std::sort(by_age.begin(), by_age.end());
    std::int64_t next = outer_ + since;
    for (auto [number, entry] : by_age) {
      pass_over(number);
      InnerPtr inner = read_outer();
      require(inner != nullptr, name_, ": the saved position is in the dataset of element ", number,
              " of data that now end before it");
      if (inner->error) std::rethrow_exception(inner->error);
      entries_[entry] = std::move(inner);
      ++open_;
    }
    pass_over(next);
    for (InnerPtr& inner : entries_)
      if (inner) inner->elements->position(at);
  }

  void fields(Position& at, std::int64_t& oldest, std::int64_t& since,
              std::vector<std::int64_t>& open) {
    at.constant("interleave.cycle_length", options_.cycle_length);
    at.constant("interleave.block_length", options_.block_length);
    at.field("interleave.index", index_);
    constexpr std::int64_t most = std::int64_t{1} << 62;
    at.field("interleave.outer", oldest, 0, most);  // the oldest that is open, or the next
    at.field("interleave.since", since, 0, most);   // outer elements from that one to the next
    at.list("interleave.open", open, 0, since);
    std::int64_t last = std::min<std::int64_t>(std::ssize(open), options_.cycle_length - 1);
    at.field("interleave.cycle", cycle_, 0, last);
    at.field("interleave.block", block_, 0, options_.block_length - 1);
  }

  // Skips outer elements up to `number`.
  void pass_over(std::int64_t number) {
    std::int64_t count = number - outer_;
    require(count >= 0 && source_->skip(count) == count, name_, ": the saved position has element ",
            number, " of data that now end before it");
    outer_ = number;
  }

  std::string name_;
  IteratorPtr source_;
  MakeDataset function_;
  InterleaveOptions options_;
  Pass pass_;
  LinkedStop stop_;  // ends what the pool reads when this ends, though the stream may go on
  Element element_;  // the outer element read last
  std::vector<InnerPtr> entries_;
  std::deque<InnerPtr> ahead_;  // those that come next, with several workers
  std::int64_t outer_ = 0;      // outer elements read
  std::int64_t index_ = 0, cycle_ = 0, block_ = 0, open_ = 0, read_ahead_ = 0;
  bool source_ended_ = false;       // as seen from the entries
  bool reading_ahead_ = false;      // an element has been asked for
  std::optional<ReaderPool> pool_;  // last, so that it ends before what it reads
};

}  // namespace

Transform interleave_as(std::string name, MakeDataset function, InterleaveOptions options) {
  require(function != nullptr, name, ": the function is empty");
  require(options.cycle_length >= 1, name, ": cycle_length must be at least 1, got ",
          options.cycle_length);
  require(options.block_length >= 1, name, ": block_length must be at least 1, got ",
          options.block_length);
  require_workers(name, options.workers);
  return wrap(
      name,
      [=](IteratorPtr source, const Pass& pass) {
        return std::make_unique<Interleave>(name, std::move(source), function, options, pass);
      },
      [](const DatasetInfo& source) {
        return DatasetInfo{.cardinality = source.cardinality == 0 ? 0 : unknown, .expands = true};
      });
}

Transform interleave(MakeDataset function, InterleaveOptions options) {
  return interleave_as("interleave", std::move(function), options);
}

}  // namespace belfry::data
