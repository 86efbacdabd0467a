#include "belfry/framework/distribute/strategy.h"

#include <algorithm>

namespace belfry {

std::string Strategy::describe_batch(std::int64_t global_rows) const {
  auto n = static_cast<std::int64_t>(towers.size());
  return concat("global batch ", global_rows, " = ", n, n == 1 ? " tower x " : " towers x ",
                global_rows / n);
}

Strategy make_strategy(const std::vector<std::string>& devices) {
  require(!devices.empty(), "devices: none is named; name one, for example cpu");
  for (std::size_t i = 0; i < devices.size(); ++i)
    require(std::find(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(i), devices[i])
                == devices.begin() + static_cast<std::ptrdiff_t>(i),
            "devices: `", devices[i], "` is named twice");
  require(devices.size() == 1, "devices: ", devices.size(), " are named (", join(devices, ", "),
          "); this version trains on one");
  return {{Tower{{find_device(devices[0])}}}};
}

}  // namespace belfry
