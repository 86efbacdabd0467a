#include "belfry/framework/distribute/variables.h"

#include <set>

#include "belfry/framework/distribute/strategy.h"
#include "belfry/framework/runtime/variable_store.h"

namespace belfry {

Variables::Variables(const Strategy& strategy, int first_tower) : first_tower_(first_tower) {
  for (const Tower& tower : strategy.towers) {
    std::vector<std::unique_ptr<VariableStore>> of_tower;
    for (std::size_t s = 0; s < tower.devices.size(); ++s) {
      bool reads_the_first = strategy.variables == VariablePlacement::central && !stores_.empty();
      of_tower.push_back(std::make_unique<VariableStore>(
          tower.devices[s], first_tower + static_cast<int>(stores_.size()),
          reads_the_first ? stores_[0][s].get() : nullptr));
    }
    stores_.push_back(std::move(of_tower));
  }
}

Variables::~Variables() = default;

VariableStore& Variables::store(int tower, int device) { return *stores_[tower][device]; }

bool Variables::contains(std::string_view name) const { return device_of(name).has_value(); }

std::optional<int> Variables::device_of(std::string_view name) const {
  for (std::size_t s = 0; s < stores_[0].size(); ++s)
    if (stores_[0][s]->contains(name)) return static_cast<int>(s);
  return std::nullopt;
}

std::vector<std::string> Variables::names() const {
  std::set<std::string> all;
  for (const auto& store : stores_[0])
    for (std::string& name : store->names()) all.insert(std::move(name));
  return {all.begin(), all.end()};
}

const VariableStore& Variables::holder(std::string_view name, int tower) const {
  for (const auto& store : stores_[tower])
    if (store->contains(name)) return *store;
  fail("there is no variable `", name, "`; the model has ",
       names().empty() ? "none yet" : join(names(), ", "));
}

const VariableOptions& Variables::options(std::string_view name) const {
  return holder(name, 0).options(name);
}

Array Variables::read(std::string_view name, int tower) const {
  return holder(name, tower).read(name);
}

void Variables::write(std::string_view name, const Array& value, int tower) {
  const_cast<VariableStore&>(holder(name, tower)).write(name, value);
}

Array Variables::read(std::string_view name) const {
  OverTowers over_towers = options(name).over_towers;
  if (!differs_over_towers(over_towers)) return read(name, 0);
  std::vector<Array> values;
  for (int tower = 0; tower < towers(); ++tower) values.push_back(read(name, tower));
  return merge_over_towers(over_towers, values);
}

void Variables::write(std::string_view name, const Array& value) {
  bool summed = options(name).over_towers == OverTowers::sum;
  for (int tower = 0; tower < towers(); ++tower)
    write(name,
          summed && first_tower_ + tower > 0 ? Array::zeros(value.shape(), value.dtype()) : value,
          tower);
}

Array merge_over_towers(OverTowers over_towers, const std::vector<Array>& values) {
  bool merges = over_towers == OverTowers::sum || over_towers == OverTowers::mean;
  if (!merges || values.size() == 1) return values[0];
  Array total(values[0].shape(), DType::f64);
  auto sums = total.span<double>();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    double sum = 0;
    for (const Array& value : values) sum += value.at(i);
    sums[i] = over_towers == OverTowers::mean ? sum / values.size() : sum;
  }
  return total.cast(values[0].dtype());
}

}  // namespace belfry
