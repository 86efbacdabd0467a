#include <algorithm>
#include <cstring>
#include <exception>
#include <vector>

#include "belfry/data/transforms.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

Signature stacked(const Signature& row, std::int64_t rows) {
  Signature out = row;
  for (auto& [name, type] : out) {
    std::vector<std::int64_t> sizes{rows};
    sizes.insert(sizes.end(), type.shape.begin(), type.shape.end());
    type.shape = Shape(sizes);
  }
  return out;
}

[[noreturn]] void fail_unlike(const Signature& first, const Features& row, std::int64_t index) {
  auto wanted = first.begin();
  for (auto item = row.begin(); item != row.end() && wanted != first.end(); ++item, ++wanted) {
    if (item->first != wanted->first) break;
    const TensorType& type = item->second.type();
    const std::string& name = item->first;
    require(type.dtype == wanted->second.dtype, "cannot batch: row 0 has ", name, " ",
            wanted->second, ", row ", index, " has ", name, " ", type);
    require(type.shape == wanted->second.shape, "cannot batch: row 0 has ", name, " ",
            wanted->second.shape, ", row ", index, " has ", name, " ", type.shape);
  }
  fail("cannot batch: row 0 is (", to_string(first), "), row ", index, " is (",
       to_string(signature_of(row)), ")");
}

// Memory for batches that goes round: a set of arrays is used again once the ring is the only one
// that holds them.
class Ring {
 public:
  void acquire(const Signature& signature, Features& out) {
    for (auto& [name, array] : out) array = Array();  // they may be from this ring
    Features* set = find(signature);
    prepare(*set, signature);
    out = *set;
  }

 private:
  static constexpr std::size_t limit = 16;  // sets; beyond it the oldest is let go

  Features* find(const Signature& signature) {
    Features* reusable = nullptr;
    for (Features& set : sets_) {
      if (!free(set)) continue;
      if (matches(set, signature)) return &set;
      reusable = &set;
    }
    if (reusable) return reusable;
    if (sets_.size() < limit) return &sets_.emplace_back();
    return &sets_[turn_++ % limit];
  }

  static bool free(const Features& set) {
    return std::all_of(set.begin(), set.end(), [](const auto& i) { return i.second.exclusive(); });
  }

  std::vector<Features> sets_;
  std::size_t turn_ = 0;
};

// The first rows of each array, in memory of their own.
void shorten(Features& batch, std::int64_t rows) {
  for (auto& [name, array] : batch) {
    Array part(array.shape().with(0, rows), array.dtype());
    std::memcpy(part.raw(), array.raw(), static_cast<std::size_t>(part.bytes()));
    array = part;
  }
}

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
        if (more && !failure) put(rows, out.features);
      } catch (...) {
        if (!failure) failure = std::current_exception();
      }
      if (!more) break;
    }
    out.index = index_;
    out.epoch = epoch_;
    if (failure || rows == size_ || (rows > 0 && !drop_remainder_)) ++index_;
    if (failure) std::rethrow_exception(failure);
    if (rows == 0 || (drop_remainder_ && rows < size_)) return false;
    if (rows < size_) shorten(out.features, rows);
    return true;
  }

  void position(Position& at) override {
    at.field("batch.index", index_);
    source_->position(at);
  }

 private:
  void put(std::int64_t index, Features& batch) {
    if (index == 0) begin(batch);
    if (!matches(row_.features, row_signature_)) fail_unlike(row_signature_, row_.features, index);
    auto target = batch.begin();
    for (const auto& [name, array] : row_.features) {
      auto bytes = static_cast<std::size_t>(array.bytes());
      std::byte* rows = (target++)->second.raw_bytes().data();
      std::memcpy(rows + static_cast<std::size_t>(index) * bytes, array.raw(), bytes);
    }
  }

  void begin(Features& batch) {
    if (!matches(row_.features, row_signature_)) {
      row_signature_ = signature_of(row_.features);
      batch_signature_ = stacked(row_signature_, size_);
    }
    ring_.acquire(batch_signature_, batch);
  }

  IteratorPtr source_;
  std::int64_t size_, index_ = 0;
  bool drop_remainder_;
  std::uint64_t epoch_;
  Element row_;
  Signature row_signature_, batch_signature_;  // of the batch in progress
  Ring ring_;
};

std::int64_t cardinality(std::int64_t of_source, std::int64_t size, bool drop_remainder) {
  if (of_source < 0) return of_source;
  return of_source / size + (!drop_remainder && of_source % size != 0);
}

}  // namespace

Transform batch(std::int64_t size, BatchOptions options) {
  require(size >= 1, "batch: size must be at least 1, got ", size);
  return wrap(
      [=](IteratorPtr source, const Pass& pass) {
        return std::make_unique<Batch>(std::move(source), size, options.drop_remainder, pass.epoch);
      },
      [=](const DatasetInfo& source) {
        return DatasetInfo{.cardinality =
                               cardinality(source.cardinality, size, options.drop_remainder)};
      });
}

}  // namespace belfry::data
