#include <algorithm>
#include <exception>

#include "belfry/data/grouping/grouping.h"
#include "belfry/data/grouping/padding.h"
#include "belfry/data/transforms/rows.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

class PaddedBatch final : public Iterator {
 public:
  PaddedBatch(IteratorPtr source, std::int64_t size, const PaddedBatchOptions& options,
              std::uint64_t epoch)
      : source_(std::move(source)),
        size_(size),
        drop_remainder_(options.drop_remainder),
        epoch_(epoch),
        stack_(options, "padded_batch") {}

  bool next(Element& out) override {
    // After a failure the rest of the batch is read and dropped, so that later batches consist of
    // the same elements as without it.
    std::exception_ptr failure;
    std::size_t rows = 0;
    for (bool more = true; static_cast<std::int64_t>(rows) < size_; ++rows) {
      std::size_t row = failure ? 0 : rows;
      if (row == rows_.size()) rows_.emplace_back();
      try {
        more = source_->next(rows_[row]);
      } catch (...) {
        if (is_shortage()) throw;
        if (!failure) failure = std::current_exception();
      }
      if (!more) break;
    }
    bool whole = static_cast<std::int64_t>(rows) == size_;
    if (!whole && (rows == 0 || drop_remainder_)) return false;
    out.index = index_++;
    out.epoch = epoch_;
    out.file = nullptr;
    if (failure) std::rethrow_exception(failure);
    stack_.stack({rows_.data(), rows}, out.features);
    return true;
  }

  std::int64_t skip(std::int64_t count) override {
    std::int64_t skipped = 0;
    for (; skipped < count; ++skipped) {
      std::int64_t rows = source_->skip(size_);
      if (rows < size_ && (rows == 0 || drop_remainder_)) break;
      ++index_;
    }
    return skipped;
  }

  void position(Position& at) override {
    at.field("padded_batch.index", index_);
    source_->position(at);
  }

 private:
  IteratorPtr source_;
  std::int64_t size_, index_ = 0;
  bool drop_remainder_;
  std::uint64_t epoch_;
  std::vector<Element> rows_;  // memory for reuse
  PaddedStack stack_;
};

}  // namespace

Transform padded_batch(std::int64_t size, PaddedBatchOptions options) {
  require(size >= 1, "padded_batch: size must be at least 1, got ", size);
  PaddedStack(options, "padded_batch");  // checks them
  return wrap(
      "padded_batch",
      [=](IteratorPtr source, const Pass& pass) {
        return std::make_unique<PaddedBatch>(std::move(source), size, options, pass.epoch);
      },
      [=](const DatasetInfo& source) {
        return DatasetInfo{.cardinality =
                               batches_of(source.cardinality, size, options.drop_remainder)};
      });
}

}  // namespace belfry::data
