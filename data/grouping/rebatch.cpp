#include <algorithm>
#include <utility>

#include "belfry/data/grouping/grouping.h"
#include "belfry/data/grouping/row_reader.h"
#include "belfry/data/transforms/named.h"
#include "belfry/data/transforms/rows.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

class Rebatch final : public Iterator {
 public:
  Rebatch(IteratorPtr source, std::vector<std::int64_t> sizes, bool drop_remainder,
          std::uint64_t epoch)
      : rows_(std::move(source), "rebatch", "rebatch.row"),
        sizes_(std::move(sizes)),
        drop_remainder_(drop_remainder),
        epoch_(epoch) {}

  bool next(Element& out) override {
    Named named(out, index_, epoch_);
    std::int64_t size = next_size();
    if (!load(size)) return false;
    ++index_;
    if (size > 0 && rows_.row() == 0 && rows_.left() == size) {
      std::swap(out.features, rows_.batch());
      rows_.advance(size);
      return true;
    }
    std::int64_t collected = collect(size, out.features);
    if (collected == size) return true;
    --index_;  // the data have ended: nothing follows, not even a batch without rows
    if (drop_remainder_) return false;
    if (collected < rows_of(out.features)) shorten(out.features, collected);
    return true;
  }

  void position(Position& at) override {
    at.field("rebatch.index", index_);
    // A batch without rows needs no row, but it looks like those before it.
    rows_.position(at, next_size() == 0);
  }

 private:
  bool load(std::int64_t size) {
    try {
      return size > 0 ? rows_.load() : rows_.look();
    } catch (...) {
      ++index_;  // the batch in progress has failed
      throw;
    }
  }

  std::int64_t next_size() const { return sizes_[index_ % sizes_.size()]; }

  // Puts `size` rows into `out`, or those there are.
  std::int64_t collect(std::int64_t size, Features& out) {
    row_ = rows_.row_type();
    if (size == 0) memory_.acquire(row_, 0, out);
    std::int64_t collected = 0;
    while (collected < size && rows_.load()) {
      require(rows_.row_type() == row_, "cannot rebatch: the rows so far are (", to_string(row_),
              "), then come rows (", to_string(rows_.row_type()), ")");
      std::int64_t count = std::min(size - collected, rows_.left());
      rows_.consume(count, [&](const Features& batch, std::int64_t first) {
        if (collected == 0)
          memory_.acquire(row_, std::max(count, memory_.rows_at_first(row_, size)), out);
        memory_.reserve(row_, collected + count, size, out);
        copy_rows(batch, first, count, out, collected);
      });
      collected += count;
    }
    return collected;
  }

  RowReader rows_;
  std::vector<std::int64_t> sizes_;
  bool drop_remainder_;
  std::uint64_t epoch_;
  std::int64_t index_ = 0;
  Signature row_;  // of the batch in progress
  BatchMemory memory_;
};

}  // namespace

Transform rebatch(std::vector<std::int64_t> sizes, RebatchOptions options) {
  for (std::int64_t size : sizes)
    require(size >= 0, "rebatch: sizes must be at least 0, got ", size);
  require(std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size > 0; }),
          "rebatch: needs a size above 0, got ", sizes.empty() ? "none" : join(sizes, ", "));
  return wrap(
      "rebatch",
      [=](IteratorPtr source, const Pass& pass) {
        return std::make_unique<Rebatch>(std::move(source), sizes, options.drop_remainder,
                                         pass.epoch);
      },
      [](const DatasetInfo& source) {
        bool known = source.cardinality == 0 || source.cardinality == infinite;
        return DatasetInfo{.cardinality = known ? source.cardinality : unknown};
      });
}

Transform rebatch(std::int64_t size, RebatchOptions options) {
  require(size >= 1, "rebatch: size must be at least 1, got ", size);
  return rebatch(std::vector<std::int64_t>{size}, options);
}

}  // namespace belfry::data
