#include "belfry/framework/compiler/memory_planner.h"

#include <algorithm>
#include <vector>

namespace belfry {
namespace {

/// How many bytes live, by moment.
std::vector<std::int64_t> live_bytes(std::span<const PlannedBlock> blocks) {
  int end = 0;
  for (const PlannedBlock& b : blocks) end = std::max(end, b.last + 1);
  std::vector<std::int64_t> live(end + 1);
  for (const PlannedBlock& b : blocks) {
    live[b.first] += aligned(b.bytes);
    live[static_cast<std::size_t>(b.last) + 1] -= aligned(b.bytes);
  }
  for (std::size_t t = 1; t < live.size(); ++t) live[t] += live[t - 1];
  return live;
}

/// The first gap for `block` between those of `assigned` (sorted by offset) that live at the same
/// time, or the end of the last of them.
std::int64_t lowest_offset(const PlannedBlock& block,
                           const std::vector<const PlannedBlock*>& assigned) {
  std::int64_t end = 0;
  for (const PlannedBlock* other : assigned) {
    if (other->last < block.first || other->first > block.last) continue;
    if (other->offset - end >= aligned(block.bytes)) break;
    end = std::max(end, other->offset + aligned(other->bytes));
  }
  return end;
}

using Order = std::vector<PlannedBlock*>;

/// Places each block in turn; returns the bytes needed in all.
std::int64_t assign(const Order& order) {
  std::vector<const PlannedBlock*> assigned;
  std::int64_t total = 0;
  for (PlannedBlock* block : order) {
    block->offset = lowest_offset(*block, assigned);
    total = std::max(total, block->offset + aligned(block->bytes));
    auto at = std::upper_bound(assigned.begin(), assigned.end(), block,
                               [](auto* a, auto* b) { return a->offset < b->offset; });
    assigned.insert(at, block);
  }
  return total;
}

/// Tries orders until the blocks need hardly more than what lives at a time, and keeps the best.
class Packing {
 public:
  Packing(std::span<PlannedBlock> blocks, std::int64_t least) : blocks_(blocks), least_(least) {}

  std::int64_t bytes() const { return best_; }

  /// Sorted by `before`.
  template <class Before>
  void try_order(const Before& before) {
    if (is_good()) return;
    Order order;
    for (PlannedBlock& b : blocks_) order.push_back(&b);
    std::stable_sort(order.begin(), order.end(), [&](auto* a, auto* b) { return before(*a, *b); });
    try_order(order);
    // The block that has come to lie highest had to wait too long for its turn. A try takes a time
    // that grows with the square of the number of blocks.
    int most = std::min<std::size_t>(8, 20000 / (blocks_.size() + 1));
    for (int tries = 0; tries < most && !is_good(); ++tries) {
      auto top = std::max_element(order.begin(), order.end(),
                                  [](auto* a, auto* b) { return end_of(*a) < end_of(*b); });
      std::rotate(order.begin(), top, top + 1);
      try_order(order);
    }
  }
  void use_best() {
    for (std::size_t i = 0; i < offsets_.size(); ++i) blocks_[i].offset = offsets_[i];
  }

 private:
  static std::int64_t end_of(const PlannedBlock& b) { return b.offset + aligned(b.bytes); }
  bool is_good() const { return best_ >= 0 && best_ - least_ <= least_ / 200; }

  void try_order(const Order& order) {
    std::int64_t bytes = assign(order);
    if (best_ >= 0 && bytes >= best_) return;
    best_ = bytes;
    offsets_.clear();
    for (const PlannedBlock& b : blocks_) offsets_.push_back(b.offset);
  }

  std::span<PlannedBlock> blocks_;
  std::int64_t least_, best_ = -1;
  std::vector<std::int64_t> offsets_;
};

}  // namespace

std::int64_t assign_offsets(std::span<PlannedBlock> blocks) {
  std::vector<std::int64_t> live = live_bytes(blocks);
  auto peak = std::ranges::max_element(live);
  Packing packing(blocks, *peak);
  auto longer = [](const PlannedBlock& a, const PlannedBlock& b) {
    return a.last - a.first > b.last - b.first;
  };
  auto larger = [](const PlannedBlock& a, const PlannedBlock& b) { return a.bytes > b.bytes; };
  // Blocks of the peak lie on each other like a pile of planks, the longest lives below, so that
  // the memory above those that still live is in one piece.
  int when = peak - live.begin();
  packing.try_order([&](const PlannedBlock& a, const PlannedBlock& b) {
    bool a_there = a.first <= when && when <= a.last, b_there = b.first <= when && when <= b.last;
    if (a_there != b_there) return a_there;
    return a_there ? longer(a, b) : larger(a, b);
  });
  packing.try_order(larger);
  std::vector<std::int64_t> most_beside;  // that ever live while a block does
  for (const PlannedBlock& b : blocks)
    most_beside.push_back(*std::max_element(live.begin() + b.first, live.begin() + b.last + 1));
  auto beside = [&](const PlannedBlock& b) { return most_beside[&b - blocks.data()]; };
  auto by_beside = [&](auto then) {
    packing.try_order([&beside, then](const PlannedBlock& a, const PlannedBlock& b) {
      std::int64_t of_a = beside(a), of_b = beside(b);
      return of_a != of_b ? of_a > of_b : then(a, b);
    });
  };
  by_beside(larger);
  by_beside(longer);
  packing.use_best();
  return packing.bytes();
}

}  // namespace belfry
