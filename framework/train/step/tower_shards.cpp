#include "belfry/framework/train/step/tower_shards.h"

#include <algorithm>

#include "belfry/framework/train/model/model.h"

namespace belfry {
namespace {

// An earlier batch may have had features that this one has not.
void forget_others(const Features& batch, Features& part) {
  bool fits = std::all_of(part.begin(), part.end(),
                          [&](const auto& item) { return batch.contains(item.first); });
  if (!fits) part.clear();
}

// Rows of every feature; scalars are everybody's.
void cut(const Features& batch, std::int64_t all, RowRange rows, Features& part) {
  forget_others(batch, part);
  for (const auto& [name, array] : batch) {
    if (array.shape().rank() == 0) {
      part.set(name, array);
      continue;
    }
    require(array.shape()[0] == all, "batch: feature `", name, "` is ", array.type(),
            " but the batch has ", all,
            " rows, so it cannot be cut for the towers; give it one row an example, or none (a "
            "scalar)");
    part.set(name, array.rows(rows.first, rows.count));
  }
}

void copy(const Features& batch, Features& part) {
  forget_others(batch, part);
  for (const auto& [name, array] : batch) part.set(name, array);
}

// FNV-1a over names and types; never 0.
std::uint64_t layout_of(const Features& batch) {
  std::uint64_t hash = 0xCBF29CE484222325;
  auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001B3; };
  for (const auto& [name, array] : batch) {
    for (char c : name) add(static_cast<unsigned char>(c));
    add(static_cast<std::uint64_t>(array.dtype()) + 256);
    for (int axis = 1; axis < array.shape().rank(); ++axis) add(array.shape()[axis]);
    add(array.shape().rank());
  }
  return hash | 1;
}

double fraction_of(std::int64_t rows, std::int64_t all) {
  return all > 0 ? static_cast<double>(rows) / all : 0;
}

}  // namespace

void StepRows::add_tower(std::int64_t count) {
  even = even && (most_of_tower == 0 || count == most_of_tower) && count > 0;
  most_of_tower = std::max(most_of_tower, count);
  if (count > 0) least_of_tower = least_of_tower > 0 ? std::min(least_of_tower, count) : count;
}

int split_batch(const Features& batch, const TowerRange& range, bool everyone,
                std::span<TowerShard> shards, StepRows& rows) {
  std::int64_t all = row_count(batch), least = std::max<std::int64_t>(all / range.all, 1);
  rows = {0,
          all,
          (all + range.all - 1) / range.all,
          std::min(least, all),
          all % range.all == 0,
          all > 0 ? layout_of(batch) : 0};
  if (range.all == 1) {
    copy(batch, shards[0].batch);
    shards[0].rows = {0, rows.all};
    return 1;
  }
  int active = 0;
  for (std::size_t t = 0; t < shards.size(); ++t) {
    TowerShard& shard = shards[t];
    std::int64_t number = range.first + static_cast<std::int64_t>(t);
    std::int64_t larger = rows.all % range.all;  // as many towers have a row more
    shard.rows = {rows.all / range.all * number + std::min(number, larger),
                  rows.all / range.all + (number < larger ? 1 : 0)};
    shard.weight = fraction_of(shard.rows.count, rows.all);
    bool empty = shard.rows.count == 0;
    if (empty && !everyone && t > 0) break;  // those behind it are empty too
    cut(batch, rows.all, empty && rows.all > 0 ? RowRange{0, 1} : shard.rows, shard.batch);
    ++active;
  }
  return active;
}

int take_batches(std::span<const Features> batches, bool everyone, std::span<TowerShard> shards,
                 StepRows& rows) {
  ensure(!batches.empty() && batches.size() <= shards.size(), "take_batches: ", batches.size(),
         " batches for ", shards.size(), " towers");
  rows = {.even = true};
  const Features* any = &batches[0];  // with a row, if there is one
  for (std::size_t t = 0; t < shards.size(); ++t) {
    std::int64_t count = t < batches.size() ? row_count(batches[t]) : 0;
    if (count > 0 && row_count(*any) == 0) any = &batches[t];
    rows.all += count;
    rows.add_tower(count);
  }
  // One that has not even a row to lend computes on none.
  bool alike = row_count(*any) > 0
               && std::all_of(batches.begin(), batches.end(), [&](const Features& batch) {
                    return layout_of(batch) == layout_of(*any);
                  });
  rows.layout = alike ? layout_of(*any) : 0;
  std::int64_t first = 0;
  std::size_t active = everyone ? shards.size() : batches.size();
  for (std::size_t t = 0; t < active; ++t) {
    TowerShard& shard = shards[t];
    std::int64_t count = t < batches.size() ? row_count(batches[t]) : 0;
    shard.rows = {first, count};
    shard.weight = fraction_of(count, rows.all);
    first += count;
    if (count > 0) {
      copy(batches[t], shard.batch);
    } else {
      cut(*any, row_count(*any), {0, std::min<std::int64_t>(1, row_count(*any))}, shard.batch);
    }
  }
  return active;
}

void offset_by_workers(const StepRows& rows, std::span<TowerShard> shards) {
  for (TowerShard& shard : shards) {
    shard.rows.first += rows.before;
    shard.weight = fraction_of(shard.rows.count, rows.all);
  }
}

}  // namespace belfry
