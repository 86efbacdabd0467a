#include <algorithm>
#include <cstring>
#include <utility>

#include "belfry/data/grouping.h"
#include "belfry/data/transforms/named.h"
#include "belfry/data/transforms/row_reader.h"
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
    if (!load()) return false;
    std::int64_t size = next_size();
    if (rows_.row() == 0 && rows_.left() == size) {
      std::swap(out.features, rows_.batch());
      rows_.advance(size);
      return true;
    }
    std::int64_t collected = collect(size, out.features);
    if (collected == size) return true;
    if (drop_remainder_) return false;
    shorten(out.features, collected);
    return true;
  }

  void position(Position& at) override {
    at.field("rebatch.index", index_);
    rows_.position(at);
  }

 private:
  bool load() {
    try {
      return rows_.load();
    } catch (...) {
      next_size();  // the batch in progress has failed
      throw;
    }
  }

  std::int64_t next_size() { return sizes_[static_cast<std::size_t>(index_++) % sizes_.size()]; }

  // Puts `size` rows into `out`, or those there are.
  std::int64_t collect(std::int64_t size, Features& out) {
    if (size != size_ || row_ != rows_.row_type()) {
      size_ = size;
      row_ = rows_.row_type();
      batch_ = stacked(row_, size);
    }
    ring_.acquire(batch_, out);
    std::int64_t collected = 0;
    while (collected < size && rows_.load()) {
      require(rows_.row_type() == row_, "cannot rebatch: the rows so far are (", to_string(row_),
              "), then come rows (", to_string(rows_.row_type()), ")");
      std::int64_t count = std::min(size - collected, rows_.left());
      copy(count, collected, out);
      rows_.advance(count);
      collected += count;
    }
    return collected;
  }

  void copy(std::int64_t count, std::int64_t to, Features& out) {
    auto target = out.begin();
    for (const auto& [name, array] : rows_.batch()) {
      Array& rows = (target++)->second;
      auto bytes = static_cast<std::size_t>(rows.bytes() / rows.shape()[0]);  // of a row
      std::memcpy(rows.raw_bytes().data() + static_cast<std::size_t>(to) * bytes,
                  array.raw_bytes().data() + static_cast<std::size_t>(rows_.row()) * bytes,
                  static_cast<std::size_t>(count) * bytes);
    }
  }

  RowReader rows_;
  std::vector<std::int64_t> sizes_;
  bool drop_remainder_;
  std::uint64_t epoch_;
  std::int64_t index_ = 0, size_ = 0;
  Signature row_, batch_;  // of the batch in progress, which has size_ rows
  BatchRing ring_;
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
