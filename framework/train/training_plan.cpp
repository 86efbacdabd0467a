#include "belfry/framework/train/training_plan.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <typeinfo>

#include "belfry/framework/ops/collective.h"
#include "belfry/framework/train/hook_list.h"
#include "belfry/framework/train/replicas.h"
#include "belfry/framework/train/session.h"
#include "belfry/framework/train/step_input.h"
#include "belfry/framework/train/worker_sync.h"

namespace belfry {
namespace {

// "Progress" of belfry::hooks::(anonymous namespace)::Progress.
std::string type_name(const Hook& hook) {
  int status = 0;
  char* demangled = abi::__cxa_demangle(typeid(hook).name(), nullptr, nullptr, &status);
  std::string name = status == 0 ? demangled : typeid(hook).name();
  std::free(demangled);
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

std::string steps_line(const Session& session, const TrainOptions& options) {
  std::int64_t first = session.step();
  std::optional<std::int64_t> last = options.max_steps;
  if (options.steps) last = std::min(last.value_or(first + *options.steps), first + *options.steps);
  std::string end = last ? concat("to ", std::max(first, *last)) : "to the end of the data";
  return concat("steps: from ", first, " ", end, "\n");
}

std::string tower_lines(const Session& session, const Replicas& replicas, int micro_batches) {
  std::string out;
  for (int t = 0; t < replicas.size(); ++t) {
    const RowRange& rows = replicas.share(t).rows;
    out += concat("tower ", session.place().first + t, ": ",
                  session.strategy().towers[static_cast<std::size_t>(t)].name(), ", ",
                  count_text(rows.count, "row"));
    if (rows.count > 0) out += concat(" from row ", rows.first);
    std::int64_t least = std::max<std::int64_t>(replicas.rows().least_of_tower, 1);
    auto parts = static_cast<int>(std::min<std::int64_t>(micro_batches, least));
    if (parts > 1 && rows.count > 0) {
      std::vector<std::int64_t> counts;
      for (const RowRange& part : split_rows(rows.count, parts)) counts.push_back(part.count);
      out += concat(", in micro-batches of ", join(counts, " + "));
    }
    out += "\n";
  }
  return out;
}

// The reductions of a tower, each slot's in the order in which they start.
std::string reduction_lines(const TowerPlan& plan) {
  std::string out;
  for (std::size_t s = 0; s < plan.slots.size(); ++s)
    for (const Instruction& instruction : plan.slots[s]->instructions) {
      if (instruction.role != Instruction::Role::start) continue;
      const Node& node = *instruction.node;
      std::int64_t bytes = 0;
      for (const TensorType& type : node.outputs()) bytes += type.bytes();
      out += concat("  ", node.as<AllReduceOptions>().name, ": ",
                    count_text(std::ssize(node.outputs()), "tensor"), ", ", bytes_text(bytes),
                    plan.slots.size() > 1 ? concat(" on slot ", s) : "", "\n");
    }
  return out.empty() ? "" : "reductions over towers, in the order in which they start:\n" + out;
}

// "a step is a round: generator x 3, then discriminator x 1; it takes 4 batches"
std::string round_line(const Model& model) {
  std::span<const SubStep> round = model.round();
  if (round.size() == 1) return "";
  std::vector<Update> updates = model.spec().train.list(model.spec().loss);
  auto names = [&](std::uint64_t mask) {
    std::vector<std::string> made;
    for (std::size_t u = 0; u < updates.size(); ++u)
      if (mask >> u & 1) made.push_back(updates[u].title());
    return join(made, " and ");
  };
  std::vector<std::pair<std::string, int>> runs;
  std::int64_t batches = 0;
  for (const SubStep& part : round) {
    std::string text = names(part.updates);
    batches += part.fresh_batch;
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

std::string memory_line(const Plan& plan, const Session& session, int tower, const Device& device) {
  std::int64_t parameters = 0, slots = 0;
  for (const Node* node : plan.variables) {
    const auto& variable = node->as<VariableOptions>();
    if (!session.holds(variable, tower)) continue;
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
  add("inputs", plan.input_bytes());
  add("constants", plan.constant_bytes());
  add("from other slots", plan.mailbox_bytes());
  add("arena", plan.arena_bytes);
  for (const auto& [use, bytes] : plan.peak_by_use())
    peak.push_back(concat(use, " ", bytes_text(bytes)));
  return concat("  ", device.name(), ": ", bytes_text(total), " of ",
                bytes_text(device.memory_limit().count), ": ", join(parts, ", "),
                peak.empty() ? "" : concat(" (at its peak: ", join(peak, ", "), ")"), "\n");
}

// What the first step takes, as Training takes it.
void take_first_batch(const Session& session, WorkerSync& sync, StepInput& input,
                      Replicas& replicas) {
  auto reading = [&](auto read) {
    auto others = session.turns().let_others();
    return read();
  };
  bool any = reading([&] { return input.read_first(); });
  BatchPolicy policy = session.strategy().batch;
  if (any && policy == BatchPolicy::per_tower) {
    replicas.take(input.batches());
  } else if (any) {
    replicas.split(input.batches()[0]);
  }
  if (!sync.alone() && policy != BatchPolicy::global) {
    StepRows rows = sync.exchange_rows(any ? replicas.rows() : StepRows(), 0);
    const Features* batch = any || rows.all == 0 ? nullptr : reading([&] { return input.any(); });
    if (batch) {
      replicas.take_nothing(*batch);
      any = true;
    }
    if (any) replicas.place(rows);
  }
  require(any, "plan: the input has no batch");
  require(replicas.rows().all > 0, "plan: the batch has no rows, with which train() would fail");
  replicas.prepare_models();
}

}  // namespace

std::string training_plan(Session& session, const RunConfig& config, const InputFn& input_fn,
                          const TrainOptions& options) {
  const Strategy& strategy = session.strategy();
  Workers& workers = session.workers();
  WorkerSync sync(workers);
  sync.check_start(session.step(), session.state().seed, session.strategy());
  StepInput input(input_fn, session.input_context(),
                  strategy.batch == BatchPolicy::per_tower ? strategy.size() : 1);
  HookList hooks(config, options, options.max_steps ? options.max_steps : options.steps);
  Replicas replicas(session, Mode::train, hooks.all(),
                    {.micro_batches = hooks.micro_batches(), .bucket = config.bucket});
  take_first_batch(session, sync, input, replicas);
  const EstimatorSpec& spec = replicas.model().spec();
  hooks.add_last(spec.hooks);

  std::string reductions, memory;
  for (int t = 0; t < replicas.size(); ++t) {
    auto plan = session.compile(replicas.model(t), t);
    for (const SubStep& part : replicas.model(t).round())
      session.check(*session.compile(replicas.model(t), t, part.updates), replicas.model(t), t);
    if (t == 0) reductions = reduction_lines(*plan);
    for (std::size_t s = 0; s < plan->slots.size(); ++s)
      memory += memory_line(*plan->slots[s], session, t,
                            *strategy.towers[static_cast<std::size_t>(t)].devices[s]);
  }
  Hooks editing = options.hooks;
  editing.insert(editing.end(), spec.hooks.begin(), spec.hooks.end());
  return concat(steps_line(session, options),
                workers.count() > 1
                    ? concat("workers: ", workers.count(), ", this one is ", workers.rank(), "\n")
                    : "",
                strategy.describe_batch(row_count(input.batches()[0]), workers.count()), "\n",
                round_line(replicas.model()), tower_lines(session, replicas, hooks.micro_batches()),
                "variables: ", strategy.variables, "\n",
                replicas.model().split() ? concat("split: ", *replicas.model().split(), "\n") : "",
                reductions, "memory of a step, by device:\n", memory, "gradients pass: average, ",
                config.precision == Precision::f16 ? "unscale, " : "", names_of(editing),
                editing.empty() ? "" : ", ", "apply\n", "hooks: ", names_of(hooks.all()), "\n",
                session.describe_warm_start(replicas.model()));
}

}  // namespace belfry
