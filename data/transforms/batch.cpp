#include <algorithm>
#include <exception>
#include <limits>
#include <vector>

#include "belfry/data/transforms/rows.h"
#include "belfry/data/transforms/transforms.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

class Batch final : public Iterator {
 public:
  Batch(IteratorPtr source, std::int64_t size, bool drop_remainder, std::uint64_t epoch)
      : source_(std::move(source)), size_(size), drop_remainder_(drop_remainder), epoch_(epoch) {}

  bool next(Element& out) override {
    // After a failure the rest of the batch is read and dropped, so that later batches consist of
    // the same elements as without it.
    std::exception_ptr failure;
    std::int64_t rows = 0;
    for (bool more = true; rows < size_; ++rows) {
      try {
        more = source_->next(row_);
        if (more && !failure) for_element("batch", row_, [&] { put(rows, out.features); });
      } catch (...) {
        if (is_shortage()) throw;
        if (!failure) failure = std::current_exception();
      }
      if (!more) break;
    }
    if (rows == 0 || (drop_remainder_ && rows < size_)) return false;
    out.index = index_++;
    out.epoch = epoch_;
    out.file = nullptr;
    if (failure) std::rethrow_exception(failure);
    if (rows < rows_of(out.features)) shorten(out.features, rows);
    return true;
  }

  std::int64_t skip(std::int64_t count) override {
    count = std::min(count, std::numeric_limits<std::int64_t>::max() / size_);
    std::int64_t rows = source_->skip(count * size_);
    std::int64_t batches = rows / size_ + (rows % size_ != 0 && !drop_remainder_);
    index_ += batches;
    return batches;
  }

  void position(Position& at) override {
    at.field("batch.index", index_);
    source_->position(at);
  }

 private:
  void put(std::int64_t index, Features& batch) {
    if (index == 0) begin(batch);
    if (!matches(row_.features, row_signature_))
      fail_unlike(row_signature_, signature_of(row_.features), index);
    if (index == capacity_) {
      memory_.reserve(row_signature_, index + 1, size_, batch);
      capacity_ = rows_of(batch);
    }
    copy_row(row_.features, index, batch);
  }

  void begin(Features& batch) {
    if (!matches(row_.features, row_signature_)) row_signature_ = signature_of(row_.features);
    capacity_ = memory_.rows_at_first(row_signature_, size_);
    memory_.acquire(row_signature_, capacity_, batch);
  }

  IteratorPtr source_;
  std::int64_t size_, index_ = 0;
  bool drop_remainder_;
  std::uint64_t epoch_;
  Element row_;
  Signature row_signature_;    // of the batch in progress,
  std::int64_t capacity_ = 0;  // which has memory for so many rows
  BatchMemory memory_;
};

}  // namespace

Transform batch(std::int64_t size, BatchOptions options) {
  require(size >= 1, "batch: size must be at least 1, got ", size);
  return wrap(
      "batch",
      [=](IteratorPtr source, const Pass& pass) {
        return std::make_unique<Batch>(std::move(source), size, options.drop_remainder, pass.epoch);
      },
      [=](const DatasetInfo& source) {
        return DatasetInfo{.cardinality =
                               batches_of(source.cardinality, size, options.drop_remainder)};
      });
}

}  // namespace belfry::data
