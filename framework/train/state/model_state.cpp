#include "belfry/framework/train/state/model_state.h"

#include <algorithm>
#include <cstring>

#include "belfry/framework/base/log.h"
#include "belfry/framework/optimizers/optimizers.h"
#include "belfry/framework/runtime/variable_store.h"

namespace belfry {
namespace {

void require_fit(const std::string& misfits, const WeightSource& source) {
  require(misfits.empty(), source.name, " does not fit the model:", misfits, "\n", source.remedy);
}

}  // namespace

// The variables of the training, without those that only evaluation or prediction has.
std::vector<VariableOptions> ModelState::to_save() const {
  std::vector<VariableOptions> out;
  for (const std::string& name : variables_.names())
    if (!outside_.contains(name)) out.push_back(variables_.options(name));
  return out;
}

// Whether each tower here has a value of its own to save.
bool ModelState::differs(const VariableOptions& options) const {
  return variables_.towers() > 1 && differs_over_towers(options.over_towers);
}

// All is checked before anything changes.
void ModelState::restore(Checkpoint checkpoint, WeightSource source) {
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
    values_.check(checkpoint.variables, options, source);
  }
  require_fit(describe_misfits(wanted, saved), source);
  values_.restore(std::move(checkpoint.variables), std::move(source));
  step = checkpoint.step;
  seed_ = checkpoint.seed;
  for (const VariableOptions& options : wanted) {
    outside_.erase(options.name);
    made_elsewhere_.erase(options.name);
    write(options.name, values_.find(variables_.options(options.name)).value());
    values_.given(options.name);
  }
  position = {std::move(checkpoint.input), true, std::move(checkpoint.hooks)};
  has_state = true;
}

Checkpoint ModelState::snapshot() const {
  Checkpoint out;
  out.variables = values_.waiting();
  for (const VariableOptions& options : to_save()) {
    const std::string& name = options.name;
    out.variables[name] = variables_.read(name);
    for (int tower = 0; differs(options) && tower < variables_.towers(); ++tower)
      out.variables[tower_name(name, tower)] = variables_.read(name, tower);
  }
  out.step = step;
  out.seed = seed_;
  out.input = position.input;
  out.hooks = position.hooks;
  out.config = config_;
  return out;
}

std::vector<std::string> ModelState::names() const {
  std::set<std::string> names;
  for (const auto& [name, value] : values_.waiting()) names.insert(name);
  for (const VariableOptions& options : to_save()) {
    names.insert(options.name);
    for (int tower = 0; differs(options) && tower < variables_.towers(); ++tower)
      names.insert(tower_name(options.name, tower));
  }
  return {names.begin(), names.end()};
}

std::optional<Array> ModelState::value(std::string_view name) const {
  if (variables_.contains(name) && !outside_.contains(name)) return variables_.read(name);
  NamedArrays all = snapshot().variables;  // also those of no model, and of one tower
  auto found = all.find(name);
  if (found == all.end()) return std::nullopt;
  return std::move(found->second);
}

Checkpoint ModelState::snapshot_of_all(Workers& workers) const {
  Checkpoint out = snapshot();
  if (workers.count() == 1) return out;
  for (const VariableOptions& options : to_save()) {
    const std::string& name = options.name;
    if (!differs_over_towers(options.over_towers)) continue;
    std::vector<std::byte> own;
    for (int tower = 0; tower < variables_.towers(); ++tower) {
      Array value = variables_.read(name, tower);
      own.insert(own.end(), value.raw_bytes().begin(), value.raw_bytes().end());
    }
    std::vector<Array> all;
    for (const auto& bytes : workers.gather(own))
      for (std::size_t at = 0; at < bytes.size();) {
        Array& value = all.emplace_back(options.type);
        std::size_t size = value.bytes();
        std::memcpy(value.raw(), bytes.data() + at, size);
        at += size;
      }
    for (std::size_t tower = 0; tower < all.size(); ++tower)
      out.variables[tower_name(name, tower)] = all[tower];
    if (!all.empty()) out.variables[name] = merge_over_towers(options.over_towers, all);
  }
  return out;
}

WeightSource ModelState::source_of_variables(Mode mode) const {
  if (mode == Mode::train && fixed_)
    return {"what is trained since the first batch",
            "a model_fn must make the same variables for every batch"};
  if (values_.restored() && trained_.empty()) return values_.words();
  if (mode == Mode::train)
    return {"the training before",
            "a model_fn must make the same variables in every training of an Estimator"};
  return {
      "what is trained",
      "give layers the same names and shapes in all modes, or set VariableArgs::outside_training "
      "of a variable that training is not to have"};
}

std::optional<KnownVariables> ModelState::known() const {
  if (!values_.restored() && trained_.empty()) return std::nullopt;
  KnownVariables known = trained_;
  add_saved(values_.waiting(), known);
  for (const std::string& name : variables_.names())
    if (!outside_.contains(name) && !made_elsewhere_.contains(name))
      known.emplace(name, variables_.options(name).type);
  return known;
}

void ModelState::check(std::vector<VariableOptions> wanted, const std::set<std::string>& used,
                       Mode mode) const {
  std::optional<KnownVariables> there = known();
  if (!there) return;
  std::erase_if(wanted, [&](const VariableOptions& v) {
    bool need_not_be = !used.contains(v.name) || (v.outside_training && mode != Mode::train);
    return need_not_be && !there->contains(v.name);
  });
  require_fit(describe_misfits(wanted, *there), source_of_variables(mode));
}

void ModelState::fix(std::span<const VariableOptions> of_model) {
  KnownVariables own;
  std::vector<VariableOptions> others;
  std::set<std::string> all;
  for (const VariableOptions& variable : of_model) {
    all.insert(variable.name);
    if (variable.kind != VariableKind::slot && !made_elsewhere_.contains(variable.name))
      own.emplace(variable.name, variable.type);
  }
  for (const std::string& name : made_elsewhere_)
    if (!all.contains(name) && !trained_.contains(name)) others.push_back(variables_.options(name));
  require_fit(describe_misfits(others, own), source_of_variables(Mode::evaluate));
  for (const VariableOptions& variable : of_model) {
    trained_.emplace(variable.name, variable.type);
    outside_.erase(variable.name);
  }
  fixed_ = true;
}

void ModelState::warm_up(std::span<const VariableOptions> of_model, Mode mode, bool is_chief) {
  std::string table = values_.warm_up(of_model, seed_, mode);
  if (table.empty() || !is_chief) return;
  table.pop_back();  // the last end of line
  log_info(table);
}

// On all towers at once: they may never differ but where they are meant to.
void ModelState::make(const VariableOptions& options, int device, Mode mode) {
  bool is_new = !variables_.contains(options.name);
  ensure(is_new || variables_.device_of(options.name) == device, "variable `", options.name,
         "` is not on device ", device);
  std::optional<FoundValue> found;
  if (is_new) found = values_.find(options);
  for (int tower = 0; tower < variables_.towers(); ++tower)
    variables_.store(tower, device).get_or_create(options, seed_);
  if (found) {
    write(options.name, *found);
    values_.given(options.name);  // now: to make a variable may fail, and be tried again
  }
  bool is_saved = found && values_.restored();
  if (is_new && !is_saved && mode != Mode::train)
    (options.outside_training ? outside_ : made_elsewhere_).insert(options.name);
}

// Where towers differ each gets its own again, if there are as many as there were.
void ModelState::write(const std::string& name, const FoundValue& value) {
  variables_.write(name, value.common);
  for (int tower = 0; tower < variables_.towers() && !value.of_towers.empty(); ++tower)
    variables_.write(name, value.of_towers[first_tower_ + tower], tower);
}

bool ModelState::has_average(const std::string& variable, bool begun) const {
  std::string name = concat(variable, moving_average_suffix), count = name + "_count";
  auto saved = values_.waiting().find(begun ? count : name);
  bool waits = saved != values_.waiting().end();
  if (!begun) return waits || variables_.contains(name);
  if (variables_.contains(count)) return variables_.read(count).item() > 0;
  return waits && saved->second.item() > 0;
}

}  // namespace belfry
