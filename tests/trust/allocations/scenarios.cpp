#include "scenarios.h"

#include "belfry/framework/base/log.h"
#include "scenario_kinds.h"

namespace belfry {
namespace {

const Scenarios& scenarios() {
  static const Scenarios all = [] {
    set_log_sink([](LogLevel, std::string_view) {});
    Scenarios out;
    add_formats(out);
    add_pipelines(out);
    add_augmentations(out);
    add_trainings(out);
    add_uses(out);
    return out;
  }();
  return all;
}

}  // namespace

std::vector<std::string> scenario_names() {
  std::vector<std::string> out;
  for (const auto& [name, make] : scenarios()) out.push_back(name);
  return out;
}
std::unique_ptr<Scenario> make_scenario(const std::string& name) { return scenarios().at(name)(); }

}  // namespace belfry
