// Which variables there are, and where their values come from.

#include <algorithm>
#include <cstring>
#include <set>

#include "belfry/framework/base/log.h"
#include "belfry/framework/optimizers/moving_average.h"
#include "belfry/framework/train/state/variable_misfits.h"
#include "belfry/framework/train/step/session.h"

namespace belfry {
namespace {

// The name of the value that one tower has of a variable that differs over towers.
std::string tower_name(const std::string& variable, int tower) {
  return concat(variable, "/tower_", tower);
}

void check_type(const WeightSource& source, const NamedArrays::value_type& found,
                const VariableOptions& wanted) {
  require(found.second.type() == wanted.type, source.name, " has variable `", found.first, "` as ",
          found.second.type(), " but the model asks for ", wanted.type, "; ", source.remedy);
}

// The values that each of `towers` towers had of a variable that differs over them; empty where it
// does not, or where only the value that they make together can be taken over.
std::vector<Array> values_of_towers(const NamedArrays& saved, const VariableOptions& wanted,
                                    const WeightSource& source, int towers) {
  std::vector<Array> own;
  if (!differs_over_towers(wanted.over_towers)) return own;
  for (int tower = 0;; ++tower) {
    auto found = saved.find(tower_name(wanted.name, tower));
    if (found == saved.end()) break;
    check_type(source, *found, wanted);
    own.push_back(found->second);
  }
  auto had = std::max<std::size_t>(1, own.size()), have = static_cast<std::size_t>(towers);
  require(had == have || wanted.over_towers != OverTowers::per_tower, source.name,
          " has the values of ", had, " towers for variable `", wanted.name,
          "`, which differs from tower to tower; there are ", have,
          " now; use as many, or rename the variable to begin it anew");
  if (own.size() != have) own.clear();
  return own;
}

void require_fit(const std::string& misfits, const WeightSource& source) {
  require(misfits.empty(), source.name, " does not fit the model:", misfits, "\n", source.remedy);
}

}  // namespace

// The variables of the training, without those that only evaluation or prediction has.
std::vector<VariableOptions> Session::variables_to_save() const {
  std::vector<VariableOptions> out;
  for (const std::string& name : variables_.names())
    if (!outside_.contains(name)) out.push_back(variables_.options(name));
  return out;
}

// All is checked before anything changes.
void Session::restore(Checkpoint checkpoint, WeightSource source) {
  auto turn = turns_.take();
  if (source.name.empty()) source.name = concat("the checkpoint of step ", checkpoint.step);
  if (source.remedy.empty())
    source.remedy = "use another model_dir, or undo the change to the model";
  KnownVariables saved;
  add_saved(checkpoint.variables, saved);
  std::vector<VariableOptions> wanted;
  for (const std::string& name : variables_.names())
    if (!outside_.contains(name) || saved.contains(name))
      wanted.push_back(variables_.options(name));
  for (VariableOptions& options : wanted) {
    options.kind = VariableKind::parameter;  // slots that there are must be in it, too
    values_of_towers(checkpoint.variables, options, source, place().all);
  }
  require_fit(describe_misfits(wanted, saved), source);
  source_ = std::move(source);
  pending_ = std::move(checkpoint.variables);
  end_warm_start();
  warm_values_.clear();
  step_ = checkpoint.step;
  seed_ = checkpoint.seed;
  for (const VariableOptions& options : wanted) {
    outside_.erase(options.name);
    made_elsewhere_.erase(options.name);
    take_value(variables_.options(options.name));
  }
  input_position_ = std::move(checkpoint.input);
  position_of_all_ = true;
  hook_states_ = std::move(checkpoint.hooks);
  restored_ = has_state_ = true;
}

Checkpoint Session::snapshot() const {
  auto turn = turns_.take();
  Checkpoint out;
  out.variables = pending_;
  for (const VariableOptions& options : variables_to_save()) {
    const std::string& name = options.name;
    out.variables[name] = variables_.read(name);
    if (variables_.towers() == 1 || !differs_over_towers(options.over_towers)) continue;
    for (int tower = 0; tower < variables_.towers(); ++tower)
      out.variables[tower_name(name, tower)] = variables_.read(name, tower);
  }
  out.step = step_;
  out.seed = seed_;
  out.input = input_position_;
  out.hooks = hook_states_;
  out.config = config_;
  return out;
}

std::vector<std::string> Session::variable_names() const {
  auto turn = turns_.take();
  std::set<std::string> names;
  for (const auto& [name, value] : pending_) names.insert(name);
  for (const VariableOptions& options : variables_to_save()) {
    names.insert(options.name);
    if (variables_.towers() == 1 || !differs_over_towers(options.over_towers)) continue;
    for (int tower = 0; tower < variables_.towers(); ++tower)
      names.insert(tower_name(options.name, tower));
  }
  return {names.begin(), names.end()};
}

std::optional<Array> Session::variable_value(std::string_view name) const {
  {
    auto turn = turns_.take();
    if (variables_.contains(name) && !outside_.contains(name)) return variables_.read(name);
  }
  NamedArrays all = snapshot().variables;  // also those of no model, and of one tower
  auto found = all.find(name);
  if (found == all.end()) return std::nullopt;
  return std::move(found->second);
}

Checkpoint Session::snapshot_of_all() const {
  Checkpoint out = snapshot();
  if (workers_->count() == 1) return out;
  for (const VariableOptions& options : variables_to_save()) {
    const std::string& name = options.name;
    if (!differs_over_towers(options.over_towers)) continue;
    std::vector<std::byte> own;
    for (int tower = 0; tower < variables_.towers(); ++tower) {
      Array value = variables_.read(name, tower);
      own.insert(own.end(), value.raw_bytes().begin(), value.raw_bytes().end());
    }
    std::vector<Array> all;
    for (const auto& bytes : workers_->gather(own))
      for (std::size_t at = 0; at < bytes.size();) {
        Array& value = all.emplace_back(options.type);
        auto size = static_cast<std::size_t>(value.bytes());
        std::memcpy(value.raw(), bytes.data() + at, size);
        at += size;
      }
    for (std::size_t tower = 0; tower < all.size(); ++tower)
      out.variables[tower_name(name, static_cast<int>(tower))] = all[tower];
    if (!all.empty()) out.variables[name] = merge_over_towers(options.over_towers, all);
  }
  return out;
}

WeightSource Session::source_of_variables(Mode mode) const {
  if (mode == Mode::train && fixed_)
    return {"what is trained since the first batch",
            "a model_fn must make the same variables for every batch"};
  if (restored_ && trained_.empty()) return source_;
  if (mode == Mode::train)
    return {"the training before",
            "a model_fn must make the same variables in every training of an Estimator"};
  return {
      "what is trained",
      "give layers the same names and shapes in all modes, or set VariableArgs::outside_training "
      "of a variable that training is not to have"};
}

std::optional<KnownVariables> Session::known_variables() const {
  auto turn = turns_.take();
  if (!restored_ && trained_.empty()) return std::nullopt;
  KnownVariables known = trained_;
  add_saved(pending_, known);
  for (const std::string& name : variables_.names())
    if (!outside_.contains(name) && !made_elsewhere_.contains(name))
      known.emplace(name, variables_.options(name).type);
  return known;
}

void Session::check_variables(const TowerPlan& plan, const Model& model) const {
  std::optional<KnownVariables> found = known_variables();
  if (!found) return;
  const KnownVariables& known = *found;
  bool trains = model.mode() == Mode::train;
  std::set<std::string> used;
  for (const auto& slot : plan.slots)
    for (const Node* v : slot->variables) used.insert(v->as<VariableOptions>().name);
  std::vector<VariableOptions> wanted = model.variables();
  std::erase_if(wanted, [&](const VariableOptions& v) {
    bool need_not_be = !used.contains(v.name) || (v.outside_training && !trains);
    return need_not_be && !known.contains(v.name);
  });
  require_fit(describe_misfits(wanted, known), source_of_variables(model.mode()));
}

void Session::fix_variables(const Model& model) {
  KnownVariables own;
  std::vector<VariableOptions> others;
  std::set<std::string> all;
  for (const VariableOptions& variable : model.variables()) {
    all.insert(variable.name);
    if (variable.kind != VariableKind::slot && !made_elsewhere_.contains(variable.name))
      own.emplace(variable.name, variable.type);
  }
  for (const std::string& name : made_elsewhere_)
    if (!all.contains(name) && !trained_.contains(name)) others.push_back(variables_.options(name));
  require_fit(describe_misfits(others, own), source_of_variables(Mode::evaluate));
  for (const VariableOptions& variable : model.variables()) {
    trained_.emplace(variable.name, variable.type);
    outside_.erase(variable.name);
  }
  fixed_ = true;
}

// The value of a variable that is in the store, out of what the checkpoint holds. Where towers
// differ each gets its own again, if there are as many as there were.
void Session::take_value(const VariableOptions& options) {
  std::vector<Array> own = values_of_towers(pending_, options, source_, place().all);
  variables_.write(options.name, pending_.at(options.name));
  for (int tower = 0; tower < variables_.towers() && !own.empty(); ++tower)
    variables_.write(options.name, own[static_cast<std::size_t>(place().first + tower)], tower);
  pending_.erase(options.name);
  for (int tower = 0; pending_.erase(tower_name(options.name, tower)) > 0; ++tower) {
  }
}

// Whether it has a saved value, after check_variables().
bool Session::is_saved(const VariableOptions& options) const {
  auto found = pending_.find(options.name);
  if (found != pending_.end()) {
    check_type(source_, *found, options);
    return true;
  }
  if (restored_ && options.kind == VariableKind::slot)
    log_warning(source_.name, " has no `", options.name, "`; it begins with its first value");
  return false;
}

// On all towers at once: they may never differ but where they are meant to.
void Session::make_variable(const VariableOptions& options, int slot, Mode mode) {
  bool new_here = !variables_.contains(options.name);
  ensure(new_here || variables_.slot_of(options.name) == slot, "variable `", options.name,
         "` is not on slot ", slot);
  bool saved = new_here && is_saved(options);
  for (int tower = 0; tower < variables_.towers(); ++tower)
    variables_.store(tower, slot).get_or_create(options, seed_);
  if (saved) take_value(options);
  if (new_here && !saved && mode != Mode::train)
    (options.outside_training ? outside_ : made_elsewhere_).insert(options.name);
  auto warm = new_here ? warm_values_.find(options.name) : warm_values_.end();
  if (warm == warm_values_.end()) return;
  variables_.write(options.name, warm->second);
  warm_values_.erase(warm);
}

bool Session::has_average(const std::string& variable) const {
  std::string name = concat(variable, moving_average_suffix), count = name + "_count";
  if (variables_.contains(count)) return variables_.read(count).item() > 0;
  auto saved = pending_.find(count);
  return saved != pending_.end() && saved->second.item() > 0;
}

}  // namespace belfry
