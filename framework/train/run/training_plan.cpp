#include "belfry/framework/train/run/training_plan.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <typeinfo>

#include "belfry/framework/compiler/plan.h"
#include "belfry/framework/ops/collective.h"
#include "belfry/framework/train/step/session.h"

namespace belfry {
namespace {

// "Progress" of belfry::hooks::(anonymous namespace)::Progress.
std::string type_name(const Hook& hook) {
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(typeid(hook).name(), nullptr, nullptr, &status), &std::free);
  std::string name = status == 0 ? demangled.get() : typeid(hook).name();
  std::size_t qualifier = name.rfind("::");
  return qualifier == std::string::npos ? name : name.substr(qualifier + 2);
}

std::string names_of(const Hooks& hooks) {
  std::vector<std::string> names;
  for (const auto& hook : hooks)
    names.push_back(hook->name().empty() ? type_name(*hook) : hook->name());
  return join(names, ", ");
}

std::string count_text(std::int64_t count, std::string_view what) {
  return concat(count, " ", what, count == 1 ? "" : "s");
}

std::string steps_line(std::int64_t first, std::optional<std::int64_t> last) {
  std::string end = last ? concat("to ", std::max(first, *last)) : "to the end of the data";
  return concat("steps: from ", first, " ", end, "\n");
}

std::string tower_lines(Towers& towers, const Replicas& replicas) {
  std::string out;
  for (int t = 0; t < replicas.size(); ++t) {
    const RowRange& rows = replicas.shard(t).rows;
    out += concat("tower ", towers.range().first + t, ": ", towers.strategy().towers[t].name(),
                  ", ", count_text(rows.count, "row"));
    if (rows.count > 0) out += concat(" from row ", rows.first);
    std::int64_t least = std::max<std::int64_t>(replicas.rows().least_of_tower, 1);
    int most = replicas.model().options().micro_batches;
    int parts = std::min<std::int64_t>(most, least);
    if (parts > 1 && rows.count > 0) {
      std::vector<std::int64_t> counts;
      for (const RowRange& part : split_rows(rows.count, parts)) counts.push_back(part.count);
      out += concat(", in micro-batches of ", join(counts, " + "));
    }
    out += "\n";
  }
  return out;
}

// The reductions of a tower, each device's in the order in which they start.
std::string reduction_lines(const TowerPlan& plan, const std::string& part) {
  std::string out;
  for (std::size_t s = 0; s < plan.plans.size(); ++s)
    for (const Instruction& instruction : plan.plans[s]->instructions) {
      if (instruction.role != Instruction::Role::start) continue;
      const Node& node = *instruction.node;
      std::int64_t bytes = 0;
      for (const TensorType& type : node.outputs()) bytes += type.bytes();
      out += concat("  ", node.as<AllReduceOptions>().name, part, ": ",
                    count_text(std::ssize(node.outputs()), "tensor"), ", ", bytes_text(bytes),
                    plan.plans.size() > 1 ? concat(" on device ", s) : "", "\n");
    }
  return out;
}

// "generator and discriminator"
std::string titles_of(const Model& model, UpdateSet updates) {
  std::vector<Update> all = model.spec().train.list(model.spec().loss);
  UpdateSet own = updates & model.all_updates();
  std::vector<std::string> titles;
  for (std::size_t u : own) titles.push_back(all[u].title());
  return join(titles, " and ");
}

// "a step is a round: generator x 3, then discriminator x 1; it takes 4 batches"
std::string round_line(const Model& model) {
  std::span<const SubStep> round = model.round();
  if (round.size() == 1) return "";
  std::vector<std::pair<std::string, int>> runs;
  std::int64_t batches = 0;
  for (const SubStep& sub_step : round) {
    std::string text = titles_of(model, sub_step.updates);
    batches += sub_step.fresh_batch;
    if (!runs.empty() && runs.back().first == text) {
      ++runs.back().second;
    } else {
      runs.emplace_back(text, 1);
    }
  }
  std::vector<std::string> parts;
  for (const auto& [text, count] : runs) parts.push_back(concat(text, " x ", count));
  return concat("a step is a round: ", join(parts, ", then "), "; it takes ", batches,
                batches == 1 ? " batch\n" : " batches\n");
}

std::string memory_line(const Plan& plan, const Towers& towers, int tower, const Device& device,
                        const std::string& part) {
  std::int64_t parameters = 0, slots = 0;
  for (const Node* node : plan.variables) {
    const auto& variable = node->as<VariableOptions>();
    if (!towers.holds(variable, tower)) continue;
    (variable.kind == VariableKind::slot ? slots : parameters) += variable.type.bytes();
  }
  std::vector<std::string> parts, peak;
  std::int64_t total = 0;
  auto add = [&](std::string_view what, std::int64_t bytes) {
    total += bytes;
    if (bytes > 0) parts.push_back(concat(what, " ", bytes_text(bytes)));
  };
  add("parameters and statistics", parameters);
  add("optimizer slots", slots);
  // Behind the arena each input begins at a multiple of 64 bytes.
  add("inputs", plan.staged ? plan.input_bytes() : plan.scratch_bytes() - plan.arena_bytes);
  add("constants", plan.constant_bytes());
  add("arena", plan.arena_bytes);
  for (const auto& [use, bytes] : plan.peak_by_use())
    peak.push_back(concat(use, " ", bytes_text(bytes)));
  return concat("  ", device.name(), part, ": ", bytes_text(total), " of ",
                bytes_text(device.memory_limit().count), ": ", join(parts, ", "),
                peak.empty() ? "" : concat(" (at its peak: ", join(peak, ", "), ")"), "\n");
}

// Behind names, where a step has several parts: " (generator)".
std::string label_of(const Model& model, UpdateSet updates) {
  return model.different_sub_steps().size() > 1 ? concat(" (", titles_of(model, updates), ")") : "";
}

std::string reductions_of_sub_steps(const PreparedTraining& training) {
  const Model& model = training.replicas().model();
  std::string lines;
  for (UpdateSet updates : model.different_sub_steps())
    lines += reduction_lines(training.plan(0, updates), label_of(model, updates));
  return lines.empty() ? "" : "reductions over towers, in the order in which they start:\n" + lines;
}

std::string memory_of_sub_steps(const PreparedTraining& training) {
  std::string lines = "memory of a step, by device:\n";
  for (int t = 0; t < training.replicas().size(); ++t) {
    const Model& model = training.replicas().model(t);
    const auto& devices = training.session.towers().strategy().towers[t].devices;
    for (UpdateSet updates : model.different_sub_steps()) {
      const TowerPlan& plan = training.plan(t, updates);
      for (std::size_t s = 0; s < plan.plans.size(); ++s)
        lines += memory_line(*plan.plans[s], training.session.towers(), t, *devices[s],
                             label_of(model, updates));
    }
  }
  return lines;
}

std::string recomputed_in_sub_steps(const PreparedTraining& training) {
  const Model& model = training.replicas().model();
  std::string lines;
  for (UpdateSet updates : model.different_sub_steps()) {
    const auto& plans = training.plan(0, updates).plans;
    for (std::size_t s = 0; s < plans.size(); ++s)
      if (plans[s]->recomputed.nodes > 0)
        lines += concat("computed again in the backward pass", label_of(model, updates),
                        plans.size() > 1 ? concat(" on device ", s) : "", ": ",
                        plans[s]->recomputed, "\n");
  }
  return lines;
}

}  // namespace

std::optional<std::int64_t> last_step(const TrainOptions& options, std::int64_t first_step) {
  std::optional<std::int64_t> last = options.max_steps;
  if (options.steps) {
    // More steps than can be counted are as many as can be.
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    std::int64_t end = *options.steps > most - first_step ? most : first_step + *options.steps;
    last = last ? std::min(*last, end) : end;
  }
  return last;
}

std::string describe_training(const PreparedTraining& training) {
  Towers& towers = training.session.towers();
  const HookList& hooks = training.hooks;
  const Model& model = training.replicas().model();
  const Workers& workers = towers.workers();
  Hooks editing = training.options.hooks;
  editing.insert(editing.end(), model.spec().hooks.begin(), model.spec().hooks.end());
  return concat(
      steps_line(training.first_step, training.last_step),
      workers.count() > 1
          ? concat("workers: ", workers.count(), ", this one is ", workers.rank(), "\n")
          : "",
      towers.strategy().describe_batch(training.driver.input().batch_rows(), workers.count()), "\n",
      round_line(model), tower_lines(towers, training.replicas()),
      "variables: ", towers.strategy().variables, "\n",
      model.split() ? concat("split: ", model.split_text(), "\n") : "",
      reductions_of_sub_steps(training), memory_of_sub_steps(training),
      recomputed_in_sub_steps(training), "gradients pass: average, ",
      training.config.precision == Precision::f16 ? "unscale, " : "", names_of(editing),
      editing.empty() ? "" : ", ", "apply\n", "hooks: ", names_of(hooks.all()), "\n");
}

std::string memory_pictures(const PreparedTraining& training) {
  const Model& model = training.replicas().model();
  const auto& devices = training.session.towers().strategy().towers[0].devices;
  std::string out;
  for (UpdateSet updates : model.different_sub_steps()) {
    const TowerPlan& plan = training.plan(0, updates);
    for (std::size_t s = 0; s < plan.plans.size(); ++s)
      if (std::string picture = memory_picture(*plan.plans[s]); !picture.empty())
        out += concat("\n", devices[s]->name(), label_of(model, updates), ": ", picture);
  }
  return out;
}

std::string training_plan(Session& session, const RunConfig& config, const InputFn& input_fn,
                          const TrainOptions& options) {
  std::int64_t first = session.state()->step;
  std::optional<std::int64_t> last = last_step(options, first);
  HookList hooks(config, options, last);
  StepDriver driver(session, hooks.all(), hooks.model_options(config), input_fn);
  driver.sync().check_start(first, session.state()->seed(), session.towers().strategy());
  require(driver.first() == StepDriver::Read::batch, "plan: the input has no batch");
  hooks.add_last(driver.model().spec().hooks);

  Replicas& replicas = driver.replicas();
  std::map<std::pair<int, UpdateSet>, std::shared_ptr<const TowerPlan>> plans;
  for (int t = 0; t < replicas.size(); ++t)
    for (UpdateSet updates : replicas.model(t).different_sub_steps()) {
      auto& plan = plans[{t, updates}] = session.planner().compile(replicas.model(t), t, updates);
      session.check(plan, replicas.model(t), t);
    }
  auto plan = [&](int tower, UpdateSet updates) -> const TowerPlan& {
    return *plans.at({tower, updates});
  };
  std::string text =
      describe_training({session, config, options, hooks, driver, first, last, plan});
  auto state = session.state();
  if (!state->values().warm_starts()) return text;
  return text
         + to_string(state->values().warm_start_table(driver.model().variables(), state->seed(),
                                                      Mode::train));
}

}  // namespace belfry
