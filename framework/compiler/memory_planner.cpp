#include "belfry/framework/compiler/memory_planner.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

namespace belfry {
namespace {

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + block_alignment - 1) / block_alignment * block_alignment;
}

// The smallest gap that holds `block` between those of `placed` (sorted by offset) that live at the
// same time; past the last of them when no gap is large enough.
std::int64_t best_offset(const PlannedBlock& block,
                         const std::vector<const PlannedBlock*>& placed) {
  std::int64_t wanted = aligned(block.bytes);
  std::int64_t end = 0, best = -1, best_gap = std::numeric_limits<std::int64_t>::max();
  for (const PlannedBlock* other : placed) {
    if (other->last < block.first || other->first > block.last) continue;
    std::int64_t gap = other->offset - end;
    if (gap >= wanted && gap < best_gap) best = end, best_gap = gap;
    end = std::max(end, other->offset + aligned(other->bytes));
  }
  return best >= 0 ? best : end;
}

}  // namespace

std::int64_t assign_offsets(std::span<PlannedBlock> blocks) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return blocks[a].bytes > blocks[b].bytes; });
  std::vector<const PlannedBlock*> placed;
  std::int64_t total = 0;
  for (std::size_t i : order) {
    PlannedBlock& block = blocks[i];
    block.offset = best_offset(block, placed);
    total = std::max(total, block.offset + aligned(block.bytes));
    auto at = std::upper_bound(placed.begin(), placed.end(), &block,
                               [](auto* a, auto* b) { return a->offset < b->offset; });
    placed.insert(at, &block);
  }
  return total;
}

}  // namespace belfry
