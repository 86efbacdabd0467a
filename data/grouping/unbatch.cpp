#include <algorithm>

#include "belfry/data/grouping/grouping.h"
#include "belfry/data/grouping/row_reader.h"
#include "belfry/data/transforms/named.h"
#include "belfry/data/transforms/rows.h"

namespace belfry::data {
namespace {

class Unbatch final : public Iterator {
 public:
  Unbatch(IteratorPtr source, std::uint64_t epoch)
      : rows_(std::move(source), "unbatch", "unbatch.row"), epoch_(epoch) {}

  bool next(Element& out) override {
    Named named(out, index_, epoch_);
    if (!rows_.load()) return false;
    ++index_;
    rows_.consume(1, [&](const Features& batch, std::int64_t row) {
      prepare(out.features, rows_.row_type());
      copy_rows(batch, row, 1, out.features, 0);
    });
    return true;
  }

  std::int64_t skip(std::int64_t count) override {
    std::int64_t skipped = 0;
    while (skipped < count) {
      bool loaded = false;
      if (!unasked([&] { return loaded = rows_.load(); })) break;
      if (!loaded) {  // an element that failed
        ++skipped;
        continue;
      }
      std::int64_t here = std::min(count - skipped, rows_.left());
      rows_.advance(here);
      index_ += here;
      skipped += here;
    }
    return skipped;
  }

  void position(Position& at) override {
    at.field("unbatch.index", index_);
    rows_.position(at);
  }

 private:
  RowReader rows_;
  std::uint64_t epoch_;
  std::int64_t index_ = 0;
};

}  // namespace

Transform unbatch() {
  return wrap(
      "unbatch",
      [](IteratorPtr source, const Pass& pass) {
        return std::make_unique<Unbatch>(std::move(source), pass.epoch);
      },
      [](const DatasetInfo& source) {
        bool known = source.cardinality == 0 || source.cardinality == infinite;
        return DatasetInfo{.cardinality = known ? source.cardinality : unknown, .expands = true};
      });
}

}  // namespace belfry::data
