#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "belfry/data/scheduler.h"
#include "belfry/data/transforms/named.h"
#include "belfry/data/transforms/parallel_map.h"
#include "belfry/data/transforms/rows.h"
#include "belfry/data/transforms/transforms.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/mutex.h"

namespace belfry::data {
namespace {

// Where a worker puts a row: parts of a batch, and the row's place among those of the part.
struct TargetRow {
  Features part;
  std::int64_t row = 0;
};

// A batch in progress. It grows by parts, so that nobody who writes a row is ever in the way.
struct Entry {
  Signature row;                // of the row that came first, whichever that was
  std::int64_t first_rows = 0;  // part 0 has so many rows, the others double what was there
  std::vector<Features> parts;  // empty: nobody has asked for it
  std::map<std::int64_t, Signature> unlike;  // rows that look otherwise

  // Error if one of `rows`, of which there are so many, is unlike row 0.
  void check(const std::vector<Element>& rows, const StageName& stage) const {
    auto look = [&](std::int64_t index) -> const Signature& {
      auto found = unlike.find(index);
      return found == unlike.end() ? row : found->second;
    };
    for (std::int64_t i = 1; i < std::ssize(rows) && !unlike.empty(); ++i)
      if (look(i) != look(0))
        for_element(stage, rows[i], [&] { fail_unlike(look(0), look(i), i); });
  }
};

// The batches in progress, filled by any thread and taken by the consumer.
class Batches {
 public:
  explicit Batches(std::int64_t size) : size_(size) {}

  std::int64_t size() const { return size_; }

  // Where row `index` of the batch with this number goes; the batch is made by whoever asks first.
  // Nowhere if that row looks unlike the others: check() will say so.
  TargetRow row_for(std::int64_t number, const Features& row, std::int64_t index) {
    MutexLock lock(mutex_);
    Entry& entry = entry_of(number, [&] { return signature_of(row); });
    if (matches(row, entry.row)) return row_in(entry, index);
    entry.unlike.emplace(index, signature_of(row));
    return {};
  }
  TargetRow row_for(std::int64_t number, const Signature& row, std::int64_t index) {
    MutexLock lock(mutex_);
    return row_in(entry_of(number, [&] { return row; }), index);
  }

  // The batch with this number, without rows if none of it succeeded. Whoever takes it owns it.
  Entry pop(std::int64_t number) {
    MutexLock lock(mutex_);
    auto node = entries_.extract(number);
    return node.empty() ? Entry{} : std::move(node.mapped());
  }

  // The parts of `entry`, all rows of which succeeded, as one.
  Features joined(Entry entry, std::int64_t rows) {
    if (entry.parts.size() == 1) return std::move(entry.parts[0]);
    Features out;
    MutexLock lock(mutex_);
    memory_.acquire(entry.row, rows, out);
    lock.unlock();
    std::int64_t done = 0;
    for (const Features& part : entry.parts) {
      std::int64_t count = std::min(rows_of(part), rows - done);
      copy_rows(part, 0, count, out, done);
      done += count;
    }
    return out;
  }

 private:
  template <class MakeRow>
  Entry& entry_of(std::int64_t number, MakeRow make_row) BELFRY_REQUIRES(mutex_) {
    Entry& entry = entries_.try_emplace(number).first->second;
    if (entry.first_rows == 0) {  // fresh, or memory was short for whoever began it
      entry.row = make_row();
      entry.first_rows = memory_.rows_at_first(entry.row, size_);
    }
    return entry;
  }

  TargetRow row_in(Entry& entry, std::int64_t index) BELFRY_REQUIRES(mutex_) {
    std::size_t part = 0;
    std::int64_t begin = 0, end = entry.first_rows;
    for (; index >= end; ++part) {
      begin = end;
      end = end < size_ - end ? 2 * end : size_;
    }
    if (part >= entry.parts.size()) entry.parts.resize(part + 1);
    Features& rows = entry.parts[part];
    if (rows.empty()) memory_.acquire(entry.row, end - begin, rows);
    return {rows, index - begin};
  }

  std::int64_t size_;
  Mutex mutex_;
  std::map<std::int64_t, Entry> entries_ BELFRY_GUARDED_BY(mutex_);
  BatchMemory memory_ BELFRY_GUARDED_BY(mutex_);
};

class MapAndBatch final : public Iterator {
 public:
  MapAndBatch(IteratorPtr rows, std::shared_ptr<Batches> batches, bool drop_remainder,
              std::uint64_t epoch, StageName stage)
      : batches_(std::move(batches)),
        rows_(std::move(rows)),
        drop_remainder_(drop_remainder),
        epoch_(epoch),
        stage_(std::move(stage)) {}

  bool next(Element& out) override {
    std::exception_ptr failure;
    std::int64_t rows = 0;
    names_.clear();
    for (bool more = true; rows < batches_->size(); ++rows) {
      try {
        more = rows_->next(row_);
      } catch (...) {
        if (is_shortage()) throw;
        if (!failure) failure = std::current_exception();
      }
      if (!more) break;
      if (!failure) copy_name(row_, names_.emplace_back());
    }
    std::int64_t number = number_++;
    bool whole = rows == batches_->size();
    if (rows == 0 || (drop_remainder_ && !whole)) return false;
    out.index = index_++;
    out.epoch = epoch_;
    out.file = nullptr;
    Entry batch = batches_->pop(number);
    batch.check(names_, stage_);
    if (failure) std::rethrow_exception(failure);
    out.features = batches_->joined(std::move(batch), rows);
    if (rows < rows_of(out.features)) shorten(out.features, rows);
    return true;
  }

  std::int64_t skip(std::int64_t count) override {
    if (number_ > 0) return Iterator::skip(count);
    std::int64_t size = batches_->size();
    count = std::min(count, std::numeric_limits<std::int64_t>::max() / size);
    std::int64_t rows = rows_->skip(count * size);
    std::int64_t batches = rows / size + (rows % size != 0 && !drop_remainder_);
    index_ += batches;
    return batches;
  }

  void position(Position& at) override {
    at.field("batch.index", index_);
    rows_->position(at);
  }

 private:
  std::shared_ptr<Batches> batches_;
  IteratorPtr rows_;
  bool drop_remainder_;
  std::uint64_t epoch_;
  StageName stage_;
  std::int64_t number_ = 0;  // of the next batch since this iterator began
  std::int64_t index_ = 0;   // of the next batch in the pass
  Element row_;
  std::vector<Element> names_;  // of the rows of a batch, without features
};

// Views of row `index`.
Features row_of(Features& batch, std::int64_t index) {
  Features row;
  for (auto& [name, array] : batch) row.set(name, array.row(index));
  return row;
}

using Fill = std::function<void(Features in, PhiloxStream&, std::int64_t batch, std::int64_t row)>;

Transform make(std::string name, std::int64_t size, MapAndBatchOptions options,
               std::function<Fill(std::shared_ptr<Batches>)> fill_for) {
  require(size >= 1, "map_and_batch: size must be at least 1, got ", size);
  require_workers("map_and_batch", options.workers);
  auto iterator = [=](IteratorPtr source, const Pass& pass) {
    auto batches = std::make_shared<Batches>(size);
    PhiloxKey key = pass.key(options.seed, "map");
    StageName stage = stage_with(pass.name, options.name);
    ElementFunction work = [=, fill = fill_for(batches)](Element& e, std::int64_t number) {
      PhiloxStream random(philox_key(key.value, e.epoch), e.index);
      for_element(stage, e,
                  [&] { fill(std::move(e.features), random, number / size, number % size); });
    };
    IteratorPtr rows =
        parallel_map(std::move(source), std::move(work), {.workers = options.workers}, pass);
    return std::make_unique<MapAndBatch>(std::move(rows), batches, options.drop_remainder,
                                         pass.epoch, stage);
  };
  auto info = [=](const DatasetInfo& source) {
    return DatasetInfo{.cardinality = batches_of(source.cardinality, size, options.drop_remainder)};
  };
  return wrap(name_with("map_and_batch", options.name, name), iterator, info);
}

}  // namespace

Transform map_and_batch(MapFunction function, std::int64_t size, MapAndBatchOptions options) {
  require(function, "map_and_batch: the function is empty");
  return make(function.name(), size, options, [=](std::shared_ptr<Batches> batches) -> Fill {
    return [=](Features in, PhiloxStream& random, std::int64_t number, std::int64_t index) {
      Features row = function(std::move(in), random);
      require_defined(row);
      TargetRow target_row = batches->row_for(number, row, index);
      if (!target_row.part.empty()) copy_row(row, target_row.row, target_row.part);
    };
  });
}

Transform map_and_batch(RowFunction function, Signature row, std::int64_t size,
                        MapAndBatchOptions options) {
  require(function != nullptr, "map_and_batch: the function is empty");
  require(!row.empty(), "map_and_batch: the signature of a row is empty");
  return make("", size, options, [=](std::shared_ptr<Batches> batches) -> Fill {
    return [=](Features in, PhiloxStream& random, std::int64_t number, std::int64_t index) {
      TargetRow target_row = batches->row_for(number, row, index);
      Features target = row_of(target_row.part, target_row.row);
      function(std::move(in), target, random);
    };
  });
}

}  // namespace belfry::data
