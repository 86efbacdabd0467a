#include "belfry/framework/train/warm_start.h"

#include <algorithm>
#include <regex>
#include <set>

#include "belfry/framework/base/error.h"
#include "belfry/framework/train/state/warm_start_recurrent.h"
#include "belfry/framework/train/state/warm_start_values.h"

namespace belfry {
namespace {

using State = WarmStartEntry::State;

std::regex regex_of(const std::string& pattern, const char* field) {
  try {
    return std::regex(pattern);
  } catch (const std::regex_error& error) {
    fail("warm start: ", field, ": `", pattern, "` is no regular expression: ", error.what());
  }
}

// A list of patterns, each of which must serve for something.
struct Patterns {
  Patterns(const std::vector<std::string>& texts, const char* field) {
    for (const std::string& text : texts) list.push_back({text, regex_of(text, field)});
  }
  struct Pattern {
    std::string text;
    std::regex regex;
    bool used = false;
  };
  std::vector<Pattern> list;
};

// Matching a name may take more than a regular expression is allowed.
void with_pattern(const char* field, const Patterns::Pattern& pattern, const auto& match) {
  try {
    match();
  } catch (const std::regex_error& error) {
    fail("warm start: ", field, ": `", pattern.text, "` cannot be matched: ", error.what());
  }
}

std::vector<std::string> patterns_of(const std::vector<RenameRule>& rules) {
  std::vector<std::string> out;
  for (const RenameRule& rule : rules) out.push_back(rule.pattern);
  return out;
}

/// Goes over the variables of one model.
class TableBuilder {
 public:
  TableBuilder(const WarmStart& options, const Weights& source,
               std::span<const VariableOptions> variables, std::uint64_t seed)
      : options_(options),
        source_(source),
        variables_(variables),
        seed_(seed),
        wanted_(options.variables, "variables"),
        renames_(patterns_of(options.renames), "renames") {
    out_.from = source.path;
    out_.skipped = source.skipped;
  }

  void add(const VariableOptions& variable) {
    known_.insert(variable.name);
    if (!is_wanted(variable)) return;
    WarmStartEntry& entry = out_.entries.emplace_back();
    entry.variable = variable.name;
    entry.type = variable.type;
    entry.source = source_name(variable.name);
    auto found = source_.tensors.find(entry.source);
    if (found == source_.tensors.end()) return;
    used_.insert(entry.source);
    entry.source_type = found->second.type();
    auto value = value_of(variable, entry.source, found->second);
    bool fits = value && value->value.type() == variable.type;
    entry.state = fits ? State::loaded : State::mismatched;
    if (!fits) return;
    entry.conversion = value->how;
    if (!value->also.empty()) used_.insert(value->also);
    out_.values[variable.name] = value->value;
  }

  /// Error: the options name what is not there.
  void check_all_used() const {
    for (const auto& [name, source] : options_.names) check_known("names", name);
    for (const auto& [name, image] : options_.flattened) check_known("flattened", name);
    for (const auto& vocabulary : options_.vocabularies)
      check_known("vocabularies", vocabulary.variable);
    for (const auto& pattern : wanted_.list) check_used("variables", pattern);
    for (const auto& pattern : renames_.list) check_used("renames", pattern);
  }

  WarmStartTable finish() {
    for (const auto& [name, array] : source_.tensors)
      if (!used_.contains(name)) out_.unused.push_back(name);
    return std::move(out_);
  }

 private:
  void check_known(const char* field, const std::string& name) const {
    if (known_.contains(name)) return;
    fail("warm start: ", field, ": the model has no variable `", name, "`; it has ",
         join(known_, ", "));
  }

  void check_used(const char* field, const Patterns::Pattern& pattern) const {
    if (pattern.used) return;
    fail("warm start: ", field, ": `", pattern.text,
         "` matches no variable that is to be loaded; the model has ", join(known_, ", "));
  }

  bool is_wanted(const VariableOptions& variable) {
    if (variable.kind == VariableKind::statistic && !options_.statistics) return false;
    if (variable.kind == VariableKind::slot && !options_.slots) return false;
    bool any = false;
    for (Patterns::Pattern& pattern : wanted_.list)
      with_pattern("variables", pattern, [&] {
        if (std::regex_search(variable.name, pattern.regex, std::regex_constants::match_continuous))
          any = pattern.used = true;
      });
    return any;
  }

  std::string source_name(const std::string& variable) {
    if (auto found = options_.names.find(variable); found != options_.names.end())
      return found->second;
    for (std::size_t i = 0; i < renames_.list.size(); ++i) {
      Patterns::Pattern& pattern = renames_.list[i];
      std::smatch match;
      with_pattern("renames", pattern,
                   [&] { pattern.used |= std::regex_match(variable, match, pattern.regex); });
      if (!match.empty()) return match.format(options_.renames[i].replacement);
    }
    return variable;
  }

  /// Whether the model has a `recurrent_bias` beside this variable.
  bool has_second_bias(const VariableOptions& variable) const {
    std::string beside = variable.name.substr(0, variable.name.rfind('/') + 1) + "recurrent_bias";
    return std::ranges::any_of(variables_, [&](const auto& v) { return v.name == beside; });
  }

  std::optional<ConvertedValue> value_of(const VariableOptions& variable, const std::string& source,
                                         const Array& array) const {
    auto value =
        recurrent_value(variable, source, array, source_.tensors, has_second_bias(variable));
    if (value)
      value = with_type_of(variable, *std::move(value));
    else
      value = convert_value(options_, variable, source, array);
    auto vocabulary =
        std::find_if(options_.vocabularies.begin(), options_.vocabularies.end(),
                     [&](const WarmStartVocabulary& v) { return v.variable == variable.name; });
    if (!value || vocabulary == options_.vocabularies.end()) return value;
    auto remapped = take_tokens(*vocabulary, variable, value->value, seed_);
    if (remapped && !value->how.empty()) remapped->how = value->how + ", " + remapped->how;
    return remapped;
  }

  const WarmStart& options_;
  const Weights& source_;
  std::span<const VariableOptions> variables_;
  std::uint64_t seed_;
  Patterns wanted_, renames_;
  std::set<std::string> known_, used_;
  WarmStartTable out_;
};

std::string row(const WarmStartEntry& entry) {
  std::string there = entry.renamed() ? concat(" from ", entry.source) : "";
  bool typed = entry.source_type != entry.type || entry.state == State::mismatched;
  switch (entry.state) {
    case State::loaded:
      return concat("  loaded      ", entry.variable, " ", entry.type, there,
                    typed ? concat(there.empty() ? " from " : " ", entry.source_type) : "",
                    entry.conversion.empty() ? "" : ", " + entry.conversion, "\n");
    case State::mismatched:
      return concat("  mismatched  ", entry.variable, " ", entry.type, ", which is ",
                    entry.source_type, entry.renamed() ? concat(" as ", entry.source) : "",
                    " in the source\n");
    case State::absent:
      return concat("  new         ", entry.variable, " ", entry.type,
                    entry.renamed() ? concat("; the source has no ", entry.source) : "", "\n");
  }
  return "";
}

std::string list(std::string_view what, const std::vector<std::string>& names) {
  return names.empty() ? "" : concat(what, names.size(), ": ", join(names, ", "), "\n");
}

}  // namespace

std::string to_string(const WarmStartTable& table) {
  auto count = [&](auto is) {
    return std::count_if(table.entries.begin(), table.entries.end(), is);
  };
  auto in = [&](State state) {
    return count([=](const WarmStartEntry& entry) { return entry.state == state; });
  };
  auto loaded_and = [&](auto is) {
    return count([=](const WarmStartEntry& e) { return e.state == State::loaded && is(e); });
  };
  std::string out =
      concat("warm start from ", table.from, ": ", in(State::loaded), " loaded (",
             loaded_and([](const WarmStartEntry& e) { return e.renamed(); }), " renamed, ",
             loaded_and([](const WarmStartEntry& e) { return !e.conversion.empty(); }),
             " converted), ", in(State::mismatched), " mismatched, ", in(State::absent), " new, ",
             table.unused.size(), " unused\n");
  for (const WarmStartEntry& entry : table.entries) out += row(entry);
  return out + list("  unused      ", table.unused) + list("  left out    ", table.skipped);
}

WarmStartTable warm_start_table(const WarmStart& options, const Weights& source,
                                std::span<const VariableOptions> variables, std::uint64_t seed,
                                bool whole_model) {
  TableBuilder builder(options, source, variables, seed);
  for (const VariableOptions& variable : variables)
    with_context(concat("warm start of `", variable.name, "` from ", source.path),
                 [&] { builder.add(variable); });
  if (whole_model) builder.check_all_used();
  WarmStartTable table = builder.finish();
  auto fault = std::find_if(table.entries.begin(), table.entries.end(),
                            [](const WarmStartEntry& e) { return e.state != State::loaded; });
  if (options.strict && fault != table.entries.end())
    fail("warm start: `", fault->variable,
         "` cannot be taken over; say what it is called in the source (WarmStart::names, renames), "
         "leave it out (variables), or let it keep its first value (strict = false)\n",
         to_string(table));
  return table;
}

}  // namespace belfry
