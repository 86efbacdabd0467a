#include "belfry/framework/train/replicas.h"

#include "belfry/framework/base/log.h"
#include "belfry/framework/train/session.h"

namespace belfry {
namespace {

// Rows of every feature; scalars are everybody's.
void cut(const Features& batch, std::int64_t all, RowRange rows, Features& part) {
  for (const auto& [name, array] : batch) {
    if (array.shape().rank() == 0) {
      part.set(name, array);
      continue;
    }
    require(array.shape()[0] == all, "batch: feature `", name, "` is ", array.type(),
            " but the batch has ", all,
            " rows, so it cannot be cut for the towers; give it one row an example, or none (a "
            "scalar)");
    part.set(name, array.rows(rows.first, rows.count));
  }
}

// "12.0 MiB on cpu:0, 9.5 MiB on cpu:1"
std::string memory_text(const TowerPlan& plan, const Strategy& strategy) {
  std::vector<std::string> parts;
  for (std::size_t s = 0; s < plan.slots.size(); ++s)
    parts.push_back(
        concat(bytes_text(plan.slots[s]->bytes()), " on ", strategy.towers[0].devices[s]->name()));
  return join(parts, ", ");
}

}  // namespace

Replicas::Replicas(Session& session, Mode mode, Hooks hooks, ModelOptions options)
    : session_(session),
      mode_(mode),
      hooks_(std::move(hooks)),
      options_(session.complete(std::move(options))),
      towers_(static_cast<std::size_t>(session.strategy().size())),
      slots_(session.strategy().slots()),
      whole_step_([this](int lane) { on_lane(lane, Phase::whole); }),
      compute_([this](int lane) { on_lane(lane, Phase::compute); }),
      apply_([this](int lane) { on_lane(lane, Phase::apply); }),
      on_failure_([this](const std::exception& e) { failed(e); }) {}

void Replicas::split(const Features& batch) {
  rows_ = row_count(batch);
  if (towers_.size() == 1) {
    for (const auto& [name, array] : batch) towers_[0].share.batch.set(name, array);
    towers_[0].share.rows = {0, rows_};
    taking_part_ = 1;
    return;
  }
  RowRange range{0, 0};
  auto n = static_cast<std::int64_t>(towers_.size());
  taking_part_ = 0;
  for (std::int64_t t = 0; t < n; ++t) {
    range.first += range.count;
    range.count = rows_ / n + (t < rows_ % n ? 1 : 0);
    TowerShare& share = towers_[static_cast<std::size_t>(t)].share;
    share.rows = range;
    share.weight = rows_ > 0 ? static_cast<double>(range.count) / static_cast<double>(rows_) : 0;
    bool needed = range.count > 0 || mode_ == Mode::train || t == 0;
    if (!needed) continue;
    ++taking_part_;
    cut(batch, rows_, range.count > 0 || rows_ == 0 ? range : RowRange{0, 1}, share.batch);
  }
}

void Replicas::take(std::vector<Features>& batches) {
  ensure(!batches.empty() && batches.size() <= towers_.size(), "take: ", batches.size(),
         " batches for ", towers_.size(), " towers");
  rows_ = 0;
  for (const Features& batch : batches) rows_ += row_count(batch);
  std::int64_t first = 0;
  taking_part_ =
      mode_ == Mode::train ? static_cast<int>(towers_.size()) : static_cast<int>(batches.size());
  for (std::size_t t = 0; t < static_cast<std::size_t>(taking_part_); ++t) {
    TowerShare& share = towers_[t].share;
    std::int64_t rows = t < batches.size() ? row_count(batches[t]) : 0;
    share.rows = {first, rows};
    share.weight = rows_ > 0 ? static_cast<double>(rows) / static_cast<double>(rows_) : 0;
    first += rows;
    if (rows > 0) {
      for (const auto& [name, array] : batches[t]) share.batch.set(name, array);
    } else {
      cut(batches[0], row_count(batches[0]), {0, 1}, share.batch);
    }
  }
}

Replicas::Compiled& Replicas::compiled_for(const Features& batch) {
  for (auto& known : models_)
    if (matches(batch, known->model.signature())) return *known;
  models_.push_back(std::make_unique<Compiled>(
      Compiled{Model(session_.model_fn(), mode_, signature_of(batch), hooks_, options_), {}}));
  const auto& split = models_.back()->model.split();
  if (split && !options_.split_plan) log_info("split for ", mode_, ": ", to_string(*split));
  options_.split_plan = split;
  return *models_.back();
}

void Replicas::prepare_models() {
  for (int t = 0; t < taking_part_; ++t) {
    TowerState& tower = towers_[static_cast<std::size_t>(t)];
    tower.model = &compiled_for(tower.share.batch).model;
  }
}

void Replicas::prepare(std::uint64_t chosen) {
  for (int t = 0; t < taking_part_; ++t) {
    TowerState& tower = towers_[static_cast<std::size_t>(t)];
    Compiled& compiled = compiled_for(tower.share.batch);
    auto& executable = compiled.executables[{t, chosen}];
    if (!executable) {
      auto plan = session_.compile(compiled.model, t, chosen);
      executable = session_.make_executable(plan, compiled.model, t);
      bool first = t == 0 && models_.size() == 1 && compiled.executables.size() == 1;
      if (first && slots_ > 1)
        log_info(mode_, ": a step needs ", memory_text(*plan, session_.strategy()));
    }
    tower.model = &compiled.model;
    tower.executable = executable.get();
  }
}

StepState Replicas::state_of(const TowerShare& share) const {
  StepState state = session_.state();
  state.first_row = share.rows.first;
  state.weight = share.weight;
  return state;
}

void Replicas::on_lane(int lane, Phase phase) {
  int tower = lane / slots_, slot = lane % slots_;
  if (tower >= taking_part_) return;
  TowerState& own = towers_[static_cast<std::size_t>(tower)];
  if (phase != Phase::apply) own.executable->compute(slot, own.share.batch, state_of(own.share));
  if (phase != Phase::compute) own.executable->apply(slot);
}

void Replicas::failed(const std::exception& error) {
  for (int t = 0; t < taking_part_; ++t)
    towers_[static_cast<std::size_t>(t)].executable->abort(error.what());
  session_.towers_failed(error);
}

void Replicas::run() {
  for (int t = 0; t < taking_part_; ++t)
    towers_[static_cast<std::size_t>(t)].executable->begin_step();
  if (session_.strategy().variables == VariablePlacement::mirrored)
    return session_.lanes().run(whole_step_, on_failure_);
  // The first tower may not write what others still read.
  session_.lanes().run(compute_, on_failure_);
  session_.lanes().run(apply_, on_failure_);
}

StepTimes Replicas::times() const {
  StepTimes total;
  for (int t = 0; t < taking_part_; ++t) total += executable(t).times();
  return total / std::max(1, taking_part_);
}

}  // namespace belfry
