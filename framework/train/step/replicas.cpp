#include "belfry/framework/train/step/replicas.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "belfry/framework/base/log.h"
#include "belfry/framework/compiler/reference_use.h"
#include "belfry/framework/train/state/variable_misfits.h"
#include "belfry/framework/train/step/session.h"

namespace belfry {
namespace {

// "12.0 MiB on cpu:0, 9.5 MiB on cpu:1"
std::string memory_text(const TowerPlan& plan, const Strategy& strategy) {
  std::vector<std::string> parts;
  for (std::size_t s = 0; s < plan.plans.size(); ++s)
    parts.push_back(
        concat(bytes_text(plan.plans[s]->bytes()), " on ", strategy.towers[0].devices[s]->name()));
  return join(parts, ", ");
}

// Workers may have other rows, for which another cut would be the best.
void take_chiefs_cuts(Workers& workers, SplitPlacement& placement) {
  auto own = std::as_writable_bytes(std::span(placement.device_of));
  std::vector<std::byte> cuts(own.begin(), own.end());
  workers.broadcast(cuts);
  ensure(cuts.size() == own.size(), "split: the chief's model has another number of operations");
  std::copy(cuts.begin(), cuts.end(), own.begin());
}

void warn_of_references(const TowerPlan& plan, const Tower& tower) {
  for (std::size_t s = 0; s < plan.plans.size(); ++s)
    if (references_are_noticeable(*plan.plans[s]))
      log_warning("train: for a part of the step on ", tower.devices[s]->name(),
                  " there are only reference kernels, which run on one thread and may take many "
                  "times as long as others: ",
                  describe_reference_use(*plan.plans[s]),
                  ". Where an op has a fast kernel in f32, compute it in f32");
}

}  // namespace

Replicas::Replicas(Session& session, Mode mode, Hooks hooks, ModelOptions options)
    : session_(session),
      mode_(mode),
      hooks_(std::move(hooks)),
      options_(session.planner().complete(std::move(options))),
      towers_(session.towers().count()),
      shards_{std::vector<TowerShard>(towers_.size())} {}

Replicas::~Replicas() {
  auto turn = session_.turns().acquire();
  let_go();
  for (Running& running : running_) running.kept.clear();
  session_.plans().drop([this](const PreparedModel& known) { return known.owner == this; });
}

ModelOptions Replicas::options_now() const {
  ModelOptions options = options_;
  if (mode_ == Mode::train && options_.towers > 1) {
    options.most_rows = rows().most_of_tower;
    options.least_rows = std::min<std::int64_t>(rows().least_of_tower, options.micro_batches);
    options.even_rows = rows().even;
    options.alike = rows().layout != 0;
  }
  return options;
}

bool Replicas::is_for(const PreparedModel& known, const Features& batch,
                      const ModelOptions& options) const {
  if (known.owner != this) return false;
  const ModelOptions& own = known.model.options();
  return own.most_rows == options.most_rows && own.least_rows == options.least_rows
         && own.even_rows == options.even_rows && own.alike == options.alike
         && matches(batch, known.model.signature());
}

Replicas::Pointer Replicas::find(const Features& batch) const {
  ModelOptions options = options_now();
  return session_.plans().find(
      [&](const PreparedModel& known) { return is_for(known, batch, options); });
}

Replicas::Pointer Replicas::prepared_for(const Features& batch) {
  PlanCache<PreparedModel>& plans = session_.plans();
  ModelOptions options = options_now();
  if (auto known = plans.use([&](const PreparedModel& k) { return is_for(k, batch, options); }))
    return known;
  AgreeOnSplit agree;
  if (Workers& workers = session_.towers().workers(); mode_ == Mode::train && workers.count() > 1)
    agree = [&workers](SplitPlacement& placement) { take_chiefs_cuts(workers, placement); };
  Pointer made = plans.add(
      {this, session_.planner().build(mode_, signature_of(batch), hooks_, options, agree)});
  const auto& split = made->model.split();
  if (split && !options_.split_placement)
    log_info("split for ", mode_, ": ", made->model.split_text());
  options_.split_placement = split;
  return made;
}

Replicas::Pointer Replicas::prepared_for_tower(int tower) {
  const Features& batch = shard(tower).batch;
  if (session_.towers().range().all == 1) return prepared_for(batch);
  return with_context(describe_shard(tower), [&] { return prepared_for(batch); });
}

void Replicas::prepare_models() {
  let_go();
  for (int t = 0; t < size(); ++t) {
    TowerState& tower = towers_[t];
    tower = {prepared_for_tower(t), nullptr};
  }
}

bool Replicas::is_prepared(UpdateSet chosen) const {
  for (int t = 0; t < size(); ++t) {
    Pointer known = find(shard(t).batch);
    if (!known || !known->executables.contains({t, chosen})) return false;
  }
  return true;
}

const TowerPlan& Replicas::plan(int i, UpdateSet chosen) const {
  Pointer known = find(shard(i).batch);
  ensure(known && known->executables.contains({i, chosen}), "plan: prepare() comes first");
  return known->executables.at({i, chosen})->plan();
}

// Gradients and statistics are summed in the order of their making.
void Replicas::check_alike(int tower, const Model& model) const {
  const Model& first = this->model();
  if (mode_ != Mode::train || tower == 0 || &model == &first) return;
  std::vector<VariableOptions> own = model.variables(), others = first.variables();
  auto [a, b] = std::ranges::mismatch(own, others, is_alike);
  if (a == own.end() && b == others.end()) return;
  auto name = [](auto at, auto end) {
    return at == end ? std::string("none") : describe_variable(*at);
  };
  const int first_here = session_.towers().range().first;
  fail("train: variable ", a - own.begin(), " of tower ", first_here + tower, "'s model is ",
       name(a, own.end()), " and of tower ", first_here, "'s ", name(b, others.end()),
       "; a model_fn must make the same variables on every tower");
}

// The cache may drop what towers do not hold: here they let go of the batch before.
void Replicas::let_go() {
  for (TowerState& tower : towers_) tower = {};
}

void Replicas::prepare(UpdateSet chosen) {
  let_go();
  if (!is_prepared(chosen))
    for (Running& running : running_) running.kept.clear();
  for (int t = 0; t < size(); ++t) {
    TowerState& tower = towers_[t];
    tower = {prepared_for_tower(t), nullptr};
    auto& executable = tower.model->executables[{t, chosen}];
    if (!executable) {
      const Model& model = tower.model->model;
      check_alike(t, model);
      auto plan = session_.planner().compile(model, t, chosen);
      executable = session_.make_executable(plan, model, t, options_.averaged);
      bool first = t == 0 && !std::exchange(has_prepared_, true);
      if (first && session_.towers().devices_per_tower() > 1)
        log_info(mode_, ": a step needs ", memory_text(*plan, session_.towers().strategy()));
      if (first && mode_ == Mode::train && session_.towers().workers().is_chief())
        warn_of_references(*plan, session_.towers().strategy().towers[0]);
    }
    tower.executable = executable.get();
  }
}

void Replicas::prepare_summaries() {
  let_go();
  for (int t = 0; t < size(); ++t) {
    TowerState& tower = towers_[t];
    tower = {prepared_for(shard(t).batch), nullptr};
    auto& executable = tower.model->summaries[t];
    if (!executable)
      executable = session_.make_executable(
          session_.planner().compile_summaries(tower.model->model, t), tower.model->model, t);
    tower.executable = executable.get();
  }
}

void Replicas::begin_at(std::int64_t first_row) {
  constexpr std::int64_t row_numbers = std::int64_t{1} << 32;  // see ops/random/random.h
  const Workers& workers = session_.towers().workers();
  // When predicting, every worker reads all data.
  bool own_batches =
      mode_ == Mode::evaluate && session_.towers().strategy().batch != BatchPolicy::global;
  first_row_ = first_row + (own_batches ? row_numbers / workers.count() * workers.rank() : 0);
}

StepState Replicas::state_of(const TowerShard& shard) const {
  StepState state = state_;
  state.first_row = first_row_ + shard.rows.first;
  state.weight = shard.weight;
  return state;
}

// For errors: rows that these name are counted from the first of the shard.
std::string Replicas::describe_shard(int tower) const {
  const RowRange& rows = shard(tower).rows;
  std::string name = concat("on tower ", session_.towers().range().first + tower);
  if (rows.count == 0) return name + ", which has no rows of the batch";
  return concat(name, ", whose row 0 is row ", rows.first, " of the batch's ", shards_.rows.all);
}

void Replicas::on_lane(int lane, Phase phase) {
  int devices = session_.towers().devices_per_tower(), tower = lane / devices,
      device = lane % devices;
  if (tower >= size()) return;
  if (session_.towers().range().all == 1) return run_lane(tower, device, phase);
  try {
    run_lane(tower, device, phase);
  } catch (Error& error) {
    error.add_context(describe_shard(tower));
    throw;
  }
}

void Replicas::run_lane(int tower, int device, Phase phase) {
  TowerState& own = towers_[tower];
  const TowerShard& shard = this->shard(tower);
  TowerExecutable& executable = *own.executable;
  switch (phase) {
    case Phase::compute:
      return executable.compute(device, shard.batch, state_of(shard));
    case Phase::apply:
      return executable.apply(device);
    case Phase::whole:
      executable.enqueue(device, shard.batch, state_of(shard));
      // The mailboxes in which devices leave values for each other have room for one step.
      if (!executable.can_run_behind()) executable.collect(device);
  }
}

void Replicas::failed(const std::exception& error) {
  for (int t = 0; t < size(); ++t) towers_[t].executable->abort(error.what());
  if (mode_ == Mode::train) session_.towers().failed(error);
}

void Replicas::run(int sub_step) {
  try {
    start(false, sub_step);
  } catch (...) {
    try {
      collect(started());  // steps that are left would be taken for the next ones
    } catch (const std::exception&) {
      // The first failure is the one to tell of.
    }
    throw;
  }
  collect(started());
}

bool Replicas::under_way(const Started& towers) {
  return std::all_of(towers.begin(), towers.end(),
                     [](const TowerExecutable* tower) { return tower->under_way(); });
}

void Replicas::collect(const Started& towers) {
  std::exception_ptr first;
  for (TowerExecutable* tower : towers) {
    try {
      if (tower->can_run_behind()) tower->collect(0);
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

void Replicas::start(bool trace, int sub_step) {
  auto& [towers, kept] = running_[++started_steps_ % 2];
  towers.clear();
  kept.clear();
  for (int t = 0; t < size(); ++t) {
    const TowerState& tower = towers_[t];
    towers.push_back(tower.executable);
    if (tower.executable->can_run_behind()) kept.push_back(tower.model);
    tower.executable->begin_step();
  }
  bool capture = std::ranges::all_of(
      towers, [](const TowerExecutable* tower) { return tower->was_enqueued(); });
  state_ = {.seed = session_.state()->seed(),
            .step = session_.state()->step,
            .sub_step = sub_step,
            // Predictions draw the same numbers while the model learns, to be compared.
            .draw_as_step_0 = mode_ == Mode::predict,
            .trace = trace,
            .capture = capture};  // reductions are captured by all towers or by none
  if (session_.towers().strategy().variables == VariablePlacement::mirrored)
    return run_lanes(Phase::whole);
  // The first tower may not write what others still read.
  run_lanes(Phase::compute);
  run_lanes(Phase::apply);
}

void Replicas::run_lanes(Phase phase) {
  try {
    session_.towers().lanes().run([this, phase](int lane) { on_lane(lane, phase); },
                                  [this](const std::exception& error) { failed(error); });
  } catch (...) {
    for (int t = 0; session_.towers().devices_per_tower() > 1 && t < size(); ++t)
      towers_[t].executable->settle();
    throw;
  }
}

StepTimes Replicas::times(const Started& towers) {
  StepTimes total;
  for (const TowerExecutable* tower : towers) total += tower->times();
  return total / std::max<std::size_t>(1, towers.size());
}

void Replicas::append_trace(const Started& towers, std::vector<TraceEntry>& to) {
  for (std::size_t t = 0; t < towers.size(); ++t) towers[t]->append_trace(t, to);
}

}  // namespace belfry
