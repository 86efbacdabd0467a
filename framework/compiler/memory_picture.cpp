#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <vector>

#include "belfry/framework/base/text.h"
#include "belfry/framework/compiler/plan.h"

namespace belfry {
namespace {

constexpr std::size_t most_columns = 72, rows = 12;
constexpr std::array uses{MemoryUse::activation, MemoryUse::received, MemoryUse::recomputed,
                          MemoryUse::gradient,   MemoryUse::update,   MemoryUse::packed_weights,
                          MemoryUse::workspace};

using Bars = std::array<std::int64_t, uses.size()>;  // bytes by use, from the bottom

std::int64_t sum(const Bars& bars) {
  return std::accumulate(bars.begin(), bars.end(), std::int64_t{0});
}

// By instruction.
std::vector<Bars> live_bytes(const Plan& plan) {
  std::vector<Bars> live(plan.instructions.size());
  for (const PlannedBlock& block : plan.blocks) {
    std::size_t use = std::ranges::find(uses, block.use) - uses.begin();
    for (int i = block.first; i <= block.last && i < std::ssize(live); ++i)
      live[i][use] += block.bytes;
  }
  return live;
}

// The use that a height of so many bytes lies in.
char letter_at(const Bars& bars, double bytes) {
  double top = 0;
  for (std::size_t i = 0; i < bars.size(); ++i) {
    top += bars[i];
    if (bytes < top) return to_string(uses[i])[0];
  }
  return ' ';
}

std::string legend(const std::vector<Bars>& live) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < uses.size(); ++i)
    if (std::ranges::any_of(live, [&](const Bars& bars) { return bars[i] > 0; }))
      parts.push_back(concat(to_string(uses[i])[0], " ", uses[i]));
  return join(parts, ", ");
}

std::string largest_at(const Plan& plan, int instruction) {
  std::vector<const PlannedBlock*> blocks;
  for (const PlannedBlock& block : plan.blocks)
    if (block.first <= instruction && instruction <= block.last) blocks.push_back(&block);
  std::ranges::stable_sort(blocks, [](auto* a, auto* b) { return a->bytes > b->bytes; });
  if (blocks.size() > 5) blocks.resize(5);
  std::string out;
  for (const PlannedBlock* block : blocks) {
    std::string bytes = bytes_text(block->bytes);
    bytes.resize(std::max<std::size_t>(bytes.size() + 1, 12), ' ');
    out += concat("  ", bytes, block->name, ", ", block->use, "\n");
  }
  return out;
}

}  // namespace

std::string memory_picture(const Plan& plan) {
  std::vector<Bars> live = live_bytes(plan);
  if (live.empty()) return "";
  auto less = [](const Bars& a, const Bars& b) { return sum(a) < sum(b); };
  std::size_t width = (live.size() + most_columns - 1) / most_columns;
  std::vector<Bars> columns;
  for (std::size_t at = 0; at < live.size(); at += width) {
    auto begin = live.begin() + at;
    std::ptrdiff_t count = std::min(width, live.size() - at);
    columns.push_back(*std::max_element(begin, begin + count, less));
  }
  std::size_t peak = std::ranges::max_element(live, less) - live.begin();
  double most = sum(live[peak]);
  if (most == 0) return "";
  std::string out = concat("memory over the step, ",
                           width == 1 ? "an instruction" : concat(width, " instructions"),
                           " a column: ", legend(live), "\n");
  for (std::size_t row = 0; row < rows; ++row) {
    std::string line;
    for (const Bars& bars : columns) line += letter_at(bars, most * ((rows - row) - 0.5) / rows);
    line.resize(line.find_last_not_of(' ') + 1);
    std::string scale = row == 0 ? bytes_text(sum(live[peak])) : "";
    out += std::string(std::max<std::size_t>(scale.size(), 10) - scale.size(), ' ') + scale + " |"
           + line + "\n";
  }
  const Node& node = *plan.instructions[peak].node;
  return concat(out, std::string(12 + peak / width, ' '), "^ the peak, at instruction ", peak, ": ",
                node, "\n", largest_at(plan, peak));
}

}  // namespace belfry
