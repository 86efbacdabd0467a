#include "belfry/data/transforms/rows.h"

#include <algorithm>
#include <cstring>

#include "belfry/data/element.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {

Signature stacked(const Signature& row, std::int64_t rows) {
  Signature out = row;
  for (auto& [name, type] : out) {
    std::vector<std::int64_t> sizes{rows};
    sizes.insert(sizes.end(), type.shape.begin(), type.shape.end());
    type.shape = Shape(sizes);
  }
  return out;
}

std::int64_t batches_of(std::int64_t elements, std::int64_t size, bool drop_remainder) {
  if (elements < 0) return elements;
  return elements / size + (!drop_remainder && elements % size != 0);
}

void fail_unlike(const Signature& first, const Signature& row, std::int64_t index) {
  auto wanted = first.begin();
  for (auto item = row.begin(); item != row.end() && wanted != first.end(); ++item, ++wanted) {
    const auto& [name, type] = *item;
    if (name != wanted->first) break;
    require(type.dtype == wanted->second.dtype, "cannot batch: row 0 has ", name, " ",
            wanted->second, ", row ", index, " has ", name, " ", type);
    require(type.shape == wanted->second.shape, "cannot batch: row 0 has ", name, " ",
            wanted->second.shape, ", row ", index, " has ", name, " ", type.shape,
            "; make them equal, or use padded_batch");
  }
  fail("cannot batch: row 0 is (", to_string(first), "), row ", index, " is (", to_string(row),
       ")");
}

void copy_row(const Features& row, std::int64_t index, Features& batch) {
  auto target = batch.begin();
  for (const auto& [name, array] : row) {
    std::size_t bytes = array.bytes();
    std::byte* rows = (target++)->second.raw_bytes().data();
    std::memcpy(rows + index * bytes, array.raw(), bytes);
  }
}

void copy_rows(const Features& from, std::int64_t first, std::int64_t count, Features& batch,
               std::int64_t to) {
  auto target = batch.begin();
  for (const auto& [name, array] : from) {
    std::size_t bytes = array.bytes() / array.shape()[0];  // of a row
    std::byte* rows = (target++)->second.raw_bytes().data();
    std::memcpy(rows + to * bytes, array.raw_bytes().data() + first * bytes, count * bytes);
  }
}

void shorten(Features& batch, std::int64_t rows) {
  for (auto& [name, array] : batch) {
    Array part(array.shape().with(0, rows), array.dtype());
    std::memcpy(part.raw(), array.raw(), part.bytes());
    array = part;
  }
}

namespace {

constexpr std::size_t limit = 16;  // sets in a ring; beyond it the oldest is let go

bool is_free(const Features& set) {
  return std::all_of(set.begin(), set.end(), [](const auto& i) { return i.second.exclusive(); });
}

}  // namespace

void BatchRing::acquire(const Signature& signature, Features& out) {
  for (auto& [name, array] : out) array = Array();  // they may be from this ring
  Features* set = find(signature);
  prepare(*set, signature);
  out = *set;
}

Features* BatchRing::find(const Signature& signature) {
  Features* reusable = nullptr;
  for (Features& set : sets_) {
    if (!is_free(set)) continue;
    if (matches(set, signature)) return &set;
    reusable = &set;
  }
  if (reusable) return reusable;
  if (sets_.size() < limit) return &sets_.emplace_back();
  return &sets_[turn_++ % limit];
}

void BatchMemory::acquire(const Signature& row, std::int64_t rows, Features& out) {
  if (rows != rows_ || row != row_) {
    stacked_ = stacked(row, rows);
    row_ = row;
    rows_ = rows;
  }
  ring_.acquire(stacked_, out);
  most_rows_ = std::max(most_rows_, rows);
}

std::int64_t BatchMemory::rows_at_first(const Signature& row, std::int64_t size) const {
  constexpr std::int64_t moderate = 1 << 20;
  std::int64_t bytes = 1;
  for (const auto& [name, type] : row) bytes += type.bytes();
  return std::min(size, std::max({most_rows_, moderate / bytes, std::int64_t{1}}));
}

void BatchMemory::reserve(const Signature& row, std::int64_t rows, std::int64_t size,
                          Features& batch) {
  std::int64_t capacity = rows_of(batch);
  if (batch.empty() || rows <= capacity) return;
  Features larger;
  acquire(row, std::max(rows, capacity < size - capacity ? 2 * capacity : size), larger);
  auto target = larger.begin();
  for (const auto& [name, array] : batch) {
    std::byte* to = (target++)->second.raw_bytes().data();
    std::memcpy(to, array.raw(), array.bytes());
  }
  std::swap(batch, larger);
}

std::int64_t rows_of(const Features& batch) {
  return batch.empty() ? 0 : batch.begin()->second.shape()[0];
}

}  // namespace belfry::data
