#include "belfry/framework/train/state/value_source.h"

#include <algorithm>

#include "belfry/framework/base/log.h"

namespace belfry {
namespace {

void check_type(const WeightSource& source, const NamedArrays::value_type& found,
                const VariableOptions& wanted) {
  require(found.second.type() == wanted.type, source.name, " has variable `", found.first, "` as ",
          found.second.type(), " but the model asks for ", wanted.type, "; ", source.remedy);
}

}  // namespace

std::string tower_name(const std::string& variable, int tower) {
  return concat(variable, "/tower_", tower);
}

void ValueSource::restore(NamedArrays values, WeightSource words) {
  waiting_ = std::move(values);
  words_ = std::move(words);
  restored_ = true;
  end_warm_start();
  warm_values_.clear();
}

// The values that each tower had of a variable that differs over them; empty where it does not, or
// where only the value that they make together can be taken over.
std::vector<Array> ValueSource::values_of_towers(const NamedArrays& values,
                                                 const VariableOptions& wanted,
                                                 const WeightSource& words) const {
  std::vector<Array> own;
  if (!differs_over_towers(wanted.over_towers)) return own;
  for (int tower = 0;; ++tower) {
    auto found = values.find(tower_name(wanted.name, tower));
    if (found == values.end()) break;
    check_type(words, *found, wanted);
    own.push_back(found->second);
  }
  std::int64_t had = std::max<std::int64_t>(1, std::ssize(own)), have = towers_;
  require(had == have || wanted.over_towers != OverTowers::per_tower, words.name,
          " has the values of ", had, " towers for variable `", wanted.name,
          "`, which differs from tower to tower; there are ", have,
          " now; use as many, or rename the variable to begin it anew");
  if (std::ssize(own) != have) own.clear();
  return own;
}

WarmStartTable ValueSource::warm_start_table(std::span<const VariableOptions> variables,
                                             std::uint64_t seed, Mode mode) {
  if (!warm_source_) warm_source_ = load_weights(warm_start_->from);
  return belfry::warm_start_table(*warm_start_, *warm_source_, variables, seed,
                                  mode == Mode::train);
}

// A model that evaluates or predicts may lack variables that one has which trains: only after that
// one is there nothing left to take.
std::string ValueSource::warm_up(std::span<const VariableOptions> variables, std::uint64_t seed,
                                 Mode mode) {
  if (!warm_start_ || warmed_up_.contains(mode)) return "";
  WarmStartTable table = warm_start_table(variables, seed, mode);
  warmed_up_.insert(mode);  // where the source cannot be read, the next model asks again
  warm_values_ = std::move(table.values);
  if (mode == Mode::train) end_warm_start();
  return to_string(table);
}

void ValueSource::end_warm_start() {
  warm_start_.reset();
  warm_source_.reset();
}

std::optional<FoundValue> ValueSource::find(const VariableOptions& options) const {
  const NamedArrays& from = restored_ ? waiting_ : warm_values_;
  auto found = from.find(options.name);
  if (found == from.end()) {
    if (restored_ && options.kind == VariableKind::slot)
      log_warning(words_.name, " has no `", options.name, "`; it begins with its first value");
    return std::nullopt;
  }
  FoundValue value{found->second};
  if (restored_) {
    check_type(words_, *found, options);
    value.of_towers = values_of_towers(from, options, words_);
  }
  return value;
}

void ValueSource::given(const std::string& name) {
  NamedArrays& from = restored_ ? waiting_ : warm_values_;
  from.erase(name);
  for (int tower = 0; from.erase(tower_name(name, tower)) > 0; ++tower) {
  }
}

}  // namespace belfry
