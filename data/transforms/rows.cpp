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
    auto bytes = static_cast<std::size_t>(array.bytes());
    std::byte* rows = (target++)->second.raw_bytes().data();
    std::memcpy(rows + static_cast<std::size_t>(index) * bytes, array.raw(), bytes);
  }
}

void shorten(Features& batch, std::int64_t rows) {
  for (auto& [name, array] : batch) {
    Array part(array.shape().with(0, rows), array.dtype());
    std::memcpy(part.raw(), array.raw(), static_cast<std::size_t>(part.bytes()));
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

}  // namespace belfry::data
