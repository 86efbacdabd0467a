#include "belfry/framework/train/step/planner.h"

#include <algorithm>
#include <limits>
#include <map>

namespace belfry {

Planner::Planner(ModelFn model_fn, const RunConfig& config, const Towers& towers,
                 Variables& variables)
    : model_fn_(std::move(model_fn)),
      towers_(towers),
      variables_(variables),
      precision_(config.precision),
      split_(config.split.devices),
      compile_options_{
          .threads = towers.threads_of_a_device(),
          .tf32 = config.tf32,
          .exact_convolutions = config.exact_convolutions,
          .recompute = {.cheap = config.recompute.automatic, .scopes = config.recompute.scopes}},
      recompute_(config.recompute.automatic) {}

ModelOptions Planner::complete(ModelOptions options) const {
  options.towers = towers_.range().all;
  options.split = split_;
  options.precision = precision_;
  options.recompute = compile_options_.recompute;
  options.recompute.rates = towers_.on_host() ? rates_of_cpus : rates_of_gpus;
  if (towers_.devices_per_tower() > 1)
    options.device_of_variable = [this](std::string_view name) {
      return variables_.device_of(name);
    };
  return options;
}

std::shared_ptr<const TowerPlan> Planner::compile(const Model& model, int tower,
                                                  UpdateSet chosen) const {
  return compile(model, tower, chosen, {.recompute = model.mode() == Mode::train});
}

std::shared_ptr<const TowerPlan> Planner::compile(const Model& model, int tower, UpdateSet chosen,
                                                  Search search) const {
  if (model.mode() == Mode::train)
    for (const std::string& scope : compile_options_.recompute.scopes)
      require(model.has_scope(scope), "RunConfig: recompute names the scope `", scope,
              "`, in which the model makes nothing; summary() lists its scopes");
  // Each worker's first tower applies for its own.
  bool applies = towers_.strategy().variables == VariablePlacement::mirrored || tower == 0;
  return compile_within_limits(tower, search, [&](const CompileOptions& options) {
    return model.compile(towers_.devices(tower), options, chosen, applies);
  });
}

std::shared_ptr<const TowerPlan> Planner::compile_summaries(const Model& model, int tower) const {
  return compile_within_limits(tower, {}, [&](const CompileOptions& options) {
    return model.compile_summaries(towers_.devices(tower), options);
  });
}

Planner::Need Planner::need_of(const Model& model, int tower, Search search) const {
  Plans plans;
  for (UpdateSet chosen : model.different_sub_steps())
    plans.push_back(compile(model, tower, chosen, search));
  std::vector<Device*> devices = towers_.devices(tower);
  Need need;
  need.over_limit = need.over = std::numeric_limits<std::int64_t>::min();
  for (std::size_t device_index = 0; device_index < devices.size(); ++device_index) {
    const Device& device = *devices[device_index];
    std::int64_t limit = device.memory_limit().count;
    std::int64_t there = device.memory_in_use().count + device.available_memory().count;
    std::int64_t bytes = bytes_of(plans, tower, device_index);
    need.most = std::max(need.most, bytes);
    need.over_limit = std::max(need.over_limit, bytes - limit);
    need.over = std::max(need.over, bytes - std::min(limit, there));
  }
  return need;
}

std::int64_t Planner::bytes_over(const Model& model, int tower) const {
  return need_of(model, tower, leanest(model)).over;
}

Model Planner::build(Mode mode, const Signature& signature, const Hooks& hooks,
                     const ModelOptions& options, const AgreeOnSplit& agree) const {
  Model model(model_fn_, mode, signature, hooks, options);
  if (model.split_choices().empty()) return model;
  SplitPlacement best = model.split_choices().size() > 1 ? best_split(model) : *model.split();
  if (agree) agree(best);
  ModelOptions chosen = model.options();
  chosen.split_placement = std::move(best);
  return Model(model_fn_, mode, signature, hooks, chosen);  // the last one that the hooks see
}

// The memory that others have in use is not looked at, so that a model is cut alike each time.
SplitPlacement Planner::best_split(const Model& first) const {
  struct Way {
    const SplitPlacement* placement;
    Need need;
  };
  std::vector<Way> ways;
  auto judge = [&](Search search) {
    ways.clear();
    for (const SplitPlacement& placement : first.split_choices()) {
      ModelOptions options = first.options();
      options.split_placement = placement;
      Model model(model_fn_, first.mode(), first.signature(), {}, options);
      ways.push_back({&placement, need_of(model, 0, search)});
    }
    return std::ranges::any_of(ways, [](const Way& way) { return way.need.over_limit <= 0; });
  };
  if (judge({}) || (first.mode() == Mode::train && recompute_ && judge(leanest(first))))
    std::erase_if(ways, [](const Way& way) { return way.need.over_limit > 0; });
  std::int64_t least =
      std::ranges::min_element(ways, {}, [](const Way& way) { return way.need.most; })->need.most;
  std::erase_if(ways, [&](const Way& way) { return way.need.most > least + least / 20; });
  return *std::ranges::min_element(ways, {}, [](const Way& way) {
            return way.placement->seconds;
          })->placement;
}

Planner::Search Planner::leanest(const Model& model) {
  return {.recompute = model.mode() == Mode::train, .first_that_fits = true};
}

// Plans of one tower that are there together share variables, and the memory to compute in.
std::int64_t Planner::bytes_of(const Plans& plans, int tower, std::size_t device_index) const {
  std::map<std::string_view, std::int64_t> variables;
  std::int64_t bytes = 0, scratch = 0;
  for (const auto& plan : plans) {
    const Plan& own = *plan->plans[device_index];
    bytes += (own.staged ? own.input_bytes() : 0) + own.constant_bytes();
    scratch = std::max(scratch, own.scratch_bytes());
    for (const Node* v : own.variables)
      if (const auto& options = v->as<VariableOptions>(); towers_.holds(options, tower))
        variables[options.name] = options.type.bytes();
  }
  for (const auto& [name, size] : variables) bytes += size;
  return bytes + scratch;
}

// Values that are kept for the backward pass take memory, and so does Winograd's method. The memory
// that others have in use is not looked at, so that bits do not depend on it.
std::shared_ptr<const TowerPlan> Planner::compile_within_limits(int tower, Search search,
                                                                const Compile& compile) const {
  CompileOptions options = compile_options_;
  auto plan = compile(options);
  auto smallest = plan;
  auto try_more = [&] {
    if (search.recompute && (recompute_ || search.even_if_off)
        && bytes_over_limits(plan, tower) > 0)
      plan = compile_with_recompute(tower, search, compile, options, *plan);
    if (bytes_over_limits(plan, tower) < bytes_over_limits(smallest, tower)) smallest = plan;
    return bytes_over_limits(plan, tower) <= 0;
  };
  bool on_host = towers_.on_host();
  if (!on_host && bytes_over_limits(plan, tower) > 0) {
    options.gather = false;
    plan = compile(options);
  }
  if (try_more() || !on_host || options.exact_convolutions) return smallest;
  options.exact_convolutions = true;
  plan = compile(options);
  try_more();
  return smallest;
}

// If any fits, about the one that computes the least again, else the one that computes the most. It
// leaves a sixteenth of the memory, if any does, to evaluations beside the training.
std::shared_ptr<const TowerPlan> Planner::compile_with_recompute(int tower, Search search,
                                                                 const Compile& compile,
                                                                 CompileOptions options,
                                                                 const TowerPlan& without) const {
  std::int64_t fits = 1, too_much = 0;
  for (const auto& own : without.plans) too_much = std::max(too_much, own->arena_bytes);
  options.recompute.most_bytes = fits;
  auto best = compile(options);
  if (search.first_that_fits) return best;
  const std::int64_t most = -towers_.devices(tower)[0]->memory_limit().count / 16;
  for (int tries = 0; tries < 7 && bytes_over_limits(best, tower) <= most; ++tries) {
    options.recompute.most_bytes = fits + (too_much - fits) / 2;
    auto plan = compile(options);
    bool does = bytes_over_limits(plan, tower) <= most;
    (does ? fits : too_much) = options.recompute.most_bytes;
    if (does) best = std::move(plan);
  }
  return best;
}

Bytes Planner::bytes_needed(const TowerPlan& plan, int tower, int device_index) const {
  const Plan& own = *plan.plans[device_index];
  const VariableStore& store = variables_.store(tower, device_index);
  std::int64_t needed = std::max<std::int64_t>(own.scratch_bytes() - store.arena()->size().count,
                                               0);  // the rest is there
  needed += (own.staged ? own.input_bytes() : 0) + own.constant_bytes();
  for (const Node* v : own.variables)
    if (const auto& options = v->as<VariableOptions>();
        towers_.holds(options, tower) && !store.contains(options.name))
      needed += options.type.bytes();
  return Bytes(needed);
}

namespace {

Bytes free_memory(const Device& device) {
  return std::min(Bytes(device.memory_limit().count - device.memory_in_use().count),
                  device.available_memory());
}

// Where the limit would allow more than there is.
std::string_view held_by_others(const Device& device) {
  bool less =
      device.available_memory().count < device.memory_limit().count - device.memory_in_use().count;
  return less ? " beside what other programs hold" : "";
}

}  // namespace

std::int64_t Planner::bytes_over_limits(const std::shared_ptr<const TowerPlan>& plan,
                                        int tower) const {
  std::vector<Device*> devices = towers_.devices(tower);
  std::int64_t most = std::numeric_limits<std::int64_t>::min();
  for (std::size_t device_index = 0; device_index < devices.size(); ++device_index)
    most = std::max(
        most, bytes_of({plan}, tower, device_index) - devices[device_index]->memory_limit().count);
  return most;
}

std::int64_t Planner::bytes_missing(const TowerPlan& plan, int tower, int device_index) const {
  const Device& device = variables_.store(tower, device_index).device();
  return bytes_needed(plan, tower, device_index).count - free_memory(device).count;
}

bool Planner::fits(const TowerPlan& plan, int tower) const {
  for (int device_index = 0; device_index < towers_.devices_per_tower(); ++device_index)
    if (bytes_missing(plan, tower, device_index) > 0) return false;
  return true;
}

// Rows of the largest batch whose plan fits, as many for each micro-batch; 0 when not even one row
// does. Gradient hooks are left out: they were made for the real step.
std::int64_t Planner::largest_batch(const Model& model, int tower) const {
  auto rows_fit = [&](std::int64_t rows) {
    Signature smaller = model.signature();
    for (auto& [name, type] : smaller)
      if (type.shape.rank() > 0 && type.shape[0] == model.rows())
        type.shape = type.shape.with(0, rows);
    try {
      ModelOptions options = model.options();
      if (options.split > 0) options.split_placement.reset();  // it would be cut for itself
      Model scaled = build(model.mode(), smaller, {}, options);
      return fits(*compile(scaled, tower, UpdateSet::all(), leanest(model)), tower);
    } catch (const Error&) {  // a model that wants a certain batch
      return false;
    }
  };
  std::int64_t parts = std::min<std::int64_t>(model.options().micro_batches, model.rows());
  // Invariant: `low` rows in each part fit, and `high` rows do not.
  std::int64_t low = 0, high = (model.rows() + parts - 1) / parts;
  while (high - low > 1) {
    std::int64_t middle = low + (high - low) / 2;
    (rows_fit(middle * parts) ? low : high) = middle;
  }
  return low * parts;
}

void Planner::make_room(const std::shared_ptr<const TowerPlan>& plan, const Model& model, int tower,
                        PlanCache<PreparedModel>& plans) const {
  if (bytes_over_limits(plan, tower) > 0) refuse(*plan, model, tower);
  while (!fits(*plan, tower))
    if (!plans.drop_one()) refuse(*plan, model, tower);
}

void Planner::refuse(const TowerPlan& plan, const Model& model, int tower) const {
  int device_index = 0;  // the fullest
  for (int s = 1; s < towers_.devices_per_tower(); ++s)
    if (bytes_missing(plan, tower, s) > bytes_missing(plan, tower, device_index)) device_index = s;
  Device& device = variables_.store(tower, device_index).device();
  std::int64_t rows = largest_batch(model, tower);
  std::string report = belfry::explain(*plan.plans[device_index]);
  std::string_view where = towers_.count() > 1 ? " a tower" : "";
  fail("the step needs ", bytes_text(bytes_needed(plan, tower, device_index).count), " on ",
       device.name(), " but ", bytes_text(free_memory(device).count), " of ",
       bytes_text(device.memory_limit().count), " are free", held_by_others(device), "; ",
       rows > 0 ? concat("a batch of ", rows, where, " instead of ", model.rows(), " would fit.")
                : concat("not even a batch of 1", where, " would fit."),
       other_ways(model, tower), "\n", report.substr(report.find("memory: ")));
}

// A text on what the fullest device would need for the same batch in other ways of running it.
std::string Planner::other_ways(const Model& model, int tower) const {
  auto need = [&](const ModelOptions& options, Search search) -> std::optional<Need> {
    try {
      // Hooks were made for the real step, and so was its plan: all are compared without them.
      Model other(model_fn_, model.mode(), model.signature(), {}, options);
      return need_of(other, tower, search);
    } catch (const Error&) {  // a model that wants it as it is
      return std::nullopt;
    }
  };
  const Search search = leanest(model);
  const std::optional<Need> now = need(model.options(), search);
  std::string out;
  auto add = [&](const std::optional<Need>& other, const auto&... how) {
    if (now && other && other->most < now->most)
      out += concat("\n  ", bytes_text(other->most), " ", how...,
                    other->over <= 0 ? ", which fits" : "");
  };
  ModelOptions options = model.options();
  if (search.recompute && !recompute_) {
    Search again = search;
    again.even_if_off = true;
    add(need(options, again), "with activations computed again (RunConfig::recompute)");
  }
  if (options.precision == Precision::f32) {
    options.precision = Precision::bf16;
    options.split_placement.reset();  // conversions are operations, too
    add(need(options, search), "in bf16 (RunConfig::precision)");
    options = model.options();
  }
  for (int parts : {2, 4}) {
    int all = parts * options.micro_batches;
    if (model.mode() != Mode::train || all > model.rows()) break;
    ModelOptions in_parts = options;
    in_parts.micro_batches = all;
    in_parts.least_rows = std::max<std::int64_t>(options.least_rows, all);
    add(need(in_parts, search), "with the rows in ", all, " parts (hooks::accumulate)");
  }
  std::string_view who =
      towers_.devices_per_tower() > 1 ? " The fullest device would need" : " It would need";
  if (towers_.devices_per_tower() == 1)
    add(need_on_two_devices(model, tower), "on each of two devices (RunConfig::split)");
  std::int64_t kept = 0;
  for (const VariableOptions& v : model.variables())
    if (v.kind == VariableKind::slot && v.type.dtype == DType::f32) kept += v.type.bytes();
  if (now && kept > now->most / 8)
    out += concat("\n  up to ", bytes_text(kept / 4 * 3),
                  " less with optimizer slots in fewer bits (OptimizerState)");
  return out.empty() ? "" : concat(who, out);
}

std::optional<Planner::Need> Planner::need_on_two_devices(const Model& model, int tower) const {
  try {
    ModelOptions options = model.options();
    options.split = 2;
    Model cut(model_fn_, model.mode(), model.signature(), {}, options);
    Device* device = towers_.devices(tower)[0];
    Device* two[] = {device, device};
    Plans plans;
    for (UpdateSet chosen : cut.different_sub_steps())
      plans.push_back(cut.compile(two, compile_options_, chosen));
    Need need{.most = std::max(bytes_of(plans, tower, 0), bytes_of(plans, tower, 1))};
    need.over = need.most - device->memory_limit().count;
    return need;
  } catch (const Error&) {  // it says itself what lies where
    return std::nullopt;
  }
}

}  // namespace belfry
