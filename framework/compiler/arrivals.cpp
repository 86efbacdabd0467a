#include <algorithm>
#include <utility>

#include "belfry/framework/base/error.h"
#include "belfry/framework/compiler/memory_planner.h"

namespace belfry {

std::vector<int> arrivals(std::span<const std::vector<TransferEnd>> devices) {
  using Clock = std::vector<int>;  // by device: how many of its instructions are over for sure
  std::size_t transfers = 0, ends = 0;
  for (const auto& own : devices) {
    ends += own.size();
    for (const TransferEnd& end : own)
      transfers = std::max(transfers, static_cast<std::size_t>(end.number) + 1);
  }
  std::vector<Clock> known(devices.size(), Clock(devices.size()));
  std::vector<Clock> sent(transfers);  // what the sender knew
  std::vector<int> out(transfers);
  std::vector<std::size_t> next(devices.size());
  for (bool moved = true; std::exchange(moved, false);)
    for (std::size_t s = 0; s < devices.size(); ++s)
      for (; next[s] < devices[s].size(); ++next[s], --ends, moved = true) {
        const TransferEnd& end = devices[s][next[s]];
        Clock& message = sent[end.number];
        if (end.sends) {
          known[s][s] = end.at + 1;
          message = known[s];
          continue;
        }
        if (message.empty()) break;  // not sent yet
        out[end.number] = message[s];
        for (std::size_t k = 0; k < devices.size(); ++k)
          known[s][k] = std::max(known[s][k], message[k]);
      }
  ensure(ends == 0, "devices wait for each other in a circle");
  return out;
}

}  // namespace belfry
