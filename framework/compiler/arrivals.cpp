#include <algorithm>
#include <utility>

#include "belfry/framework/base/error.h"
#include "belfry/framework/compiler/memory_planner.h"

namespace belfry {

std::vector<int> arrivals(std::span<const std::vector<TransferEnd>> slots) {
  using Clock = std::vector<int>;  // by slot: how many of its instructions are over for sure
  std::size_t transfers = 0, ends = 0;
  for (const auto& own : slots) {
    ends += own.size();
    for (const TransferEnd& end : own)
      transfers = std::max(transfers, static_cast<std::size_t>(end.number) + 1);
  }
  std::vector<Clock> known(slots.size(), Clock(slots.size()));
  std::vector<Clock> sent(transfers);  // what the sender knew
  std::vector<int> out(transfers);
  std::vector<std::size_t> next(slots.size());
  for (bool moved = true; std::exchange(moved, false);)
    for (std::size_t s = 0; s < slots.size(); ++s)
      for (; next[s] < slots[s].size(); ++next[s], --ends, moved = true) {
        const TransferEnd& end = slots[s][next[s]];
        Clock& message = sent[end.number];
        if (end.sends) {
          known[s][s] = end.at + 1;
          message = known[s];
          continue;
        }
        if (message.empty()) break;  // not sent yet
        out[end.number] = message[s];
        for (std::size_t k = 0; k < slots.size(); ++k)
          known[s][k] = std::max(known[s][k], message[k]);
      }
  ensure(ends == 0, "slots wait for each other in a circle");
  return out;
}

}  // namespace belfry
