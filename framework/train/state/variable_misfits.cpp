#include "belfry/framework/train/state/variable_misfits.h"

#include <set>
#include <vector>

#include "belfry/framework/base/text.h"

namespace belfry {
namespace {

constexpr std::size_t most_lines = 20;  // of each kind

// "\n  <heading> <line>" for each line.
std::string listed(std::string_view heading, const std::vector<std::string>& lines) {
  std::string out;
  for (std::size_t i = 0; i < lines.size() && i < most_lines; ++i)
    out += concat("\n  ", heading, " ", lines[i]);
  if (lines.size() > most_lines)
    out += concat("\n  ", heading, " ", lines.size() - most_lines, " more");
  return out;
}

std::string nearest_text(const std::string& name, const std::vector<std::string>& others) {
  std::vector<std::string> nearest = nearest_names(name, others);
  return nearest.empty() ? "" : concat(", the nearest: ", join(nearest, ", "));
}

// Session writes it as <name of the variable>/tower_<number>.
bool is_of_one_tower(const std::string& name) {
  std::size_t at = name.rfind("/tower_");
  return at != std::string::npos
         && name.find_first_not_of("0123456789", at + 7) == std::string::npos;
}

// As an optimizer's slots and averages are.
bool is_kept_beside_another(const std::string& name, const KnownVariables& known) {
  for (std::size_t at = name.rfind('/'); at != std::string::npos && at > 0;
       at = name.rfind('/', at - 1))
    if (known.contains(std::string_view(name).substr(0, at))) return true;
  return false;
}

}  // namespace

void add_saved(const NamedArrays& saved, KnownVariables& to) {
  for (const auto& [name, value] : saved)
    if (!is_of_one_tower(name)) to.emplace(name, value.type());
}

bool is_alike(const VariableOptions& a, const VariableOptions& b) {
  return a.name == b.name && a.type == b.type && a.kind == b.kind && a.over_towers == b.over_towers;
}

std::string describe_variable(const VariableOptions& v) {
  return concat("`", v.name, "` (", v.type, ", ", v.kind, ", ", v.over_towers, ")");
}

std::string describe_misfits(std::span<const VariableOptions> wanted, const KnownVariables& known) {
  std::set<std::string> asked_for;
  std::vector<std::string> missing, other_types, left_over;
  for (const VariableOptions& variable : wanted) asked_for.insert(variable.name);
  for (const auto& [name, type] : known)
    if (!asked_for.contains(name) && !is_kept_beside_another(name, known))
      left_over.push_back(name);
  for (const VariableOptions& variable : wanted) {
    auto found = known.find(variable.name);
    if (found != known.end() && found->second != variable.type) {
      other_types.push_back(concat("`", variable.name, "` is ", found->second,
                                   ", the model asks for ", variable.type));
    } else if (found == known.end() && variable.kind != VariableKind::slot) {
      missing.push_back(
          concat("`", variable.name, "` ", variable.type, nearest_text(variable.name, left_over)));
    }
  }
  if (missing.empty() && other_types.empty()) return {};
  for (std::string& name : left_over) name = concat("`", name, "` ", known.at(name));
  return listed("missing:", missing) + listed("other type:", other_types)
         + listed("left over:", left_over);
}

}  // namespace belfry
