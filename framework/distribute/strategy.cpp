#include "belfry/framework/distribute/strategy.h"

#include <algorithm>
#include <set>

#include "belfry/framework/base/fields.h"

namespace belfry {
namespace {

std::vector<std::string> devices_of(const std::string& tower) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= tower.size();) {
    std::size_t end = std::min(tower.find('+', begin), tower.size());
    names.push_back(tower.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

// "8 + 7", or "2 x 8" for equal parts.
std::string parts_text(const std::vector<RowRange>& parts) {
  auto uneven = [&](const RowRange& p) { return p.count != parts[0].count; };
  if (std::none_of(parts.begin(), parts.end(), uneven))
    return concat(" x ", parts.empty() ? 0 : parts[0].count);
  std::string out = ": ";
  for (std::size_t i = 0; i < parts.size(); ++i) out += (i ? " + " : "") + text(parts[i].count);
  return out;
}

}  // namespace

std::string Tower::name() const {
  std::vector<std::string> names;
  for (const auto& device : devices) names.push_back(device->name());
  return join(names, "+");
}

std::string Strategy::describe_batch(std::int64_t rows, int workers) const {
  int local = size(), all = local * workers;
  std::string towers_text = concat(all, all == 1 ? " tower" : " towers");
  if (workers > 1) towers_text += concat(" on ", workers, " workers");
  switch (batch) {
    case BatchPolicy::global:
      return concat("global batch ", rows, " = ", towers_text, parts_text(split_rows(rows, all)));
    case BatchPolicy::per_worker:
      return concat("global batch ", rows * workers, " = ", workers,
                    workers == 1 ? " worker" : " workers", " x ", rows, ", each on ", local,
                    local == 1 ? " tower" : " towers", parts_text(split_rows(rows, local)));
    case BatchPolicy::per_tower:
      return concat("global batch ", rows * all, " = ", towers_text, " x ", rows);
  }
  no_such_value(batch);
}

Strategy make_strategy(const std::vector<std::string>& devices, BatchPolicy batch,
                       VariablePlacement variables) {
  require(!devices.empty(), "devices: none is named; name one, for example cpu");
  Strategy strategy{{}, batch, variables};
  std::set<const Device*> seen;
  for (const std::string& names : devices) {
    Tower tower;
    for (const std::string& name : devices_of(names)) {
      tower.devices.push_back(
          with_context("named in RunConfig::devices; all_gpus_or_cpu() names what this machine has",
                       [&] { return find_device(name); }));
      require(seen.insert(tower.devices.back().get()).second, "devices: `", name,
              "` is named twice");
    }
    strategy.towers.push_back(std::move(tower));
  }
  const auto& first = strategy.towers[0].devices;
  for (const Tower& tower : strategy.towers) {
    require(tower.devices.size() == first.size(), "devices: tower ", tower.name(), " has ",
            tower.devices.size(), tower.devices.size() == 1 ? " device" : " devices", " but tower ",
            strategy.towers[0].name(), " has ", first.size(), "; give all the same number");
    for (std::size_t s = 0; variables == VariablePlacement::central && s < first.size(); ++s)
      require(tower.devices[s]->reaches(*first[s]), "devices: ", tower.devices[s]->name(),
              " cannot read memory of ", first[s]->name(),
              ", where central variables would be; use mirrored ones");
  }
  return strategy;
}

}  // namespace belfry
