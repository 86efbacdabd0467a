#include "belfry/framework/compiler/memory_planner.h"

#include <algorithm>
#include <vector>

namespace belfry {
namespace {

struct Moment {
  int when = 0;
  std::int64_t bytes = 0;
};

/// When the most bytes live.
Moment peak_of(std::span<const PlannedBlock> blocks) {
  int end = 0;
  for (const PlannedBlock& b : blocks) end = std::max(end, b.last + 1);
  std::vector<std::int64_t> changes(static_cast<std::size_t>(end) + 1);
  for (const PlannedBlock& b : blocks) {
    changes[static_cast<std::size_t>(b.first)] += aligned(b.bytes);
    changes[static_cast<std::size_t>(b.last) + 1] -= aligned(b.bytes);
  }
  Moment peak;
  std::int64_t live = 0;
  for (int t = 0; t < end; ++t) {
    live += changes[static_cast<std::size_t>(t)];
    if (live > peak.bytes) peak = {t, live};
  }
  return peak;
}

/// The first gap for `block` between those of `placed` (sorted by offset) that live at the same
/// time, or the end of the last of them.
std::int64_t lowest_offset(const PlannedBlock& block,
                           const std::vector<const PlannedBlock*>& placed) {
  std::int64_t end = 0;
  for (const PlannedBlock* other : placed) {
    if (other->last < block.first || other->first > block.last) continue;
    if (other->offset - end >= aligned(block.bytes)) break;
    end = std::max(end, other->offset + aligned(other->bytes));
  }
  return end;
}

/// Places each block in turn, sorted by `before`; returns the bytes needed in all.
template <class Before>
std::int64_t place(std::span<PlannedBlock> blocks, const Before& before) {
  std::vector<PlannedBlock*> order;
  for (PlannedBlock& b : blocks) order.push_back(&b);
  std::stable_sort(order.begin(), order.end(), [&](auto* a, auto* b) { return before(*a, *b); });
  std::vector<const PlannedBlock*> placed;
  std::int64_t total = 0;
  for (PlannedBlock* block : order) {
    block->offset = lowest_offset(*block, placed);
    total = std::max(total, block->offset + aligned(block->bytes));
    auto at = std::upper_bound(placed.begin(), placed.end(), block,
                               [](auto* a, auto* b) { return a->offset < b->offset; });
    placed.insert(at, block);
  }
  return total;
}

}  // namespace

std::int64_t assign_offsets(std::span<PlannedBlock> blocks) {
  Moment peak = peak_of(blocks);
  auto by_size = [](const PlannedBlock& a, const PlannedBlock& b) { return a.bytes > b.bytes; };
  // Blocks of the peak lie on each other like a pile of planks, the longest lives below, so that
  // the memory above those that still live is in one piece.
  auto by_peak = [&](const PlannedBlock& a, const PlannedBlock& b) {
    bool a_there = a.first <= peak.when && peak.when <= a.last,
         b_there = b.first <= peak.when && peak.when <= b.last;
    if (a_there != b_there) return a_there;
    return a_there ? a.last - a.first > b.last - b.first : by_size(a, b);
  };
  std::int64_t total = place(blocks, by_peak);
  if (total == peak.bytes) return total;
  std::vector<PlannedBlock> found(blocks.begin(), blocks.end());
  std::int64_t other = place(blocks, by_size);
  if (other < total) return other;
  std::copy(found.begin(), found.end(), blocks.begin());
  return total;
}

}  // namespace belfry
