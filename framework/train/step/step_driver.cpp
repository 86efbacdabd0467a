#include "belfry/framework/train/step/step_driver.h"

#include <algorithm>

#include "belfry/framework/train/step/session.h"

namespace belfry {

StepDriver::StepDriver(Session& session, Mode mode, ModelOptions options)
    : session_(session),
      mode_(mode),
      replicas_(session, mode, {}, std::move(options)),
      sync_(session.towers().workers()) {}

StepDriver::StepDriver(Session& session, const Hooks& hooks, const ModelOptions& options,
                       const InputFn& input_fn, const std::stop_token& stop,
                       StepListeners listeners)
    : session_(session),
      mode_(Mode::train),
      replicas_(session, mode_, hooks, options),
      sync_(session.towers().workers()),
      listeners_(std::move(listeners)) {
  const Strategy& strategy = session.towers().strategy();
  InputContext context = session.towers().input_context();
  context.stop = stop;
  input_ = std::make_unique<StepInput>(
      input_fn, std::move(context), strategy.batch == BatchPolicy::per_tower ? strategy.size() : 1);
}

template <class Body>
auto StepDriver::reading(Body read) {
  auto others = session_.turns().let_others();
  return read();
}

bool StepDriver::reads_alone() const {
  return sync_.alone() || session_.towers().strategy().batch == BatchPolicy::global;
}

// In train mode every tower takes part. The batch is for the towers of all workers if the policy
// says so; when predicting, every worker reads all data.
void StepDriver::split(const Features& batch) {
  Towers& towers = session_.towers();
  bool of_all = mode_ != Mode::predict && towers.strategy().batch == BatchPolicy::global;
  TowerRange range = of_all ? towers.range() : TowerRange{0, towers.count()};
  StepShards& shards = replicas_.shards();
  shards.active = split_batch(batch, range, mode_ == Mode::train, shards.of, shards.rows);
}

void StepDriver::accept(std::span<const Features> batches) {
  StepShards& shards = replicas_.shards();
  shards.active = take_batches(batches, true, shards.of, shards.rows);
}

void StepDriver::accept_nothing(const Features& any) {
  Features none;
  for (const auto& [name, array] : any)
    none.set(name, array.shape().rank() > 0
                       ? array.rows(0, std::min<std::int64_t>(1, array.shape()[0]))
                       : array);
  accept({&none, 1});
  StepShards& shards = replicas_.shards();
  shards.rows = {};
  for (TowerShard& shard : shards.of) shard.rows = {0, 0}, shard.weight = 0;
}

void StepDriver::build(const Features& batch) {
  split(batch);
  replicas_.prepare_models();
}

void StepDriver::build_without_rows(const Features& any) {
  accept_nothing(any);
  replicas_.prepare_models();
}

void StepDriver::run(const Features& batch, std::int64_t rows_before) {
  split(batch);
  replicas_.prepare();
  replicas_.begin_at(rows_before);
  replicas_.run();
}

// A worker without data looks for the batch that stands for its own before all agree on a stop,
// which may end that wait too.
StepDriver::Read StepDriver::first(bool may_begin_anew) {
  bool need_any = !reads_alone();
  any_ = reading([&] { return input_->read_first(need_any); });
  if (listeners_.stopped_reading()) return Read::stopped;
  if (may_begin_anew && !(reads_alone() ? any_ : sync_.any_of_all(any_))) {
    any_ = reading([&] { return input_->begin_anew(need_any); });
    if (listeners_.stopped_reading()) return Read::stopped;
  }
  if (!hand_out_rows({})) return Read::end;
  replicas_.prepare_models();
  return Read::batch;
}

// Gives the towers their rows of a set; false when no worker has any.
bool StepDriver::hand_out_rows(UpdateSet chosen, int set) {
  if (any_ && session_.towers().strategy().batch == BatchPolicy::per_tower) {
    accept(input_->batches(set));
  } else if (any_) {
    split(input_->batches(set)[0]);
  }
  StepShards& shards = replicas_.shards();
  bool any = any_;
  if (!reads_alone()) {
    StepRows rows = sync_.exchange_rows(any ? shards.rows : StepRows(), chosen);
    if (!any && rows.all > 0) {
      const Features* others = reading([&] { return input_->any(); });
      require(others,
              "train: input_fn gives other workers batches but this one none, not even as the "
              "only pipeline");
      accept_nothing(*others);
    }
    any = rows.all > 0;
    if (any) {
      shards.rows = rows;
      offset_by_workers(rows, shards.of);
    }
  }
  require(!any || shards.rows.all > 0,
          "train: the batch has no rows; leave such batches out of the stream");
  return any;
}

void StepDriver::prepare() {
  for (const auto& [name, tensor] : model().spec().values) values_.emplace_back(name, 0.0);
  round_.assign(model().round().begin(), model().round().end());
  for (const SubStep& sub_step : round_)
    replicas_.prepare(sub_step.updates & model().all_updates());
}

StepDriver::Read StepDriver::next(const StepRequest& request) {
  bool summaries = request.summaries && !model().spec().summaries.empty();
  // The device has nothing else to do, and no batch is taken yet: a hook may save.
  if (request.trace || summaries) settle();
  trace_.clear();
  return start_round({{.step = request.step + 1,
                       .chosen = request.chosen & model().all_updates(),
                       .traced = request.trace,
                       .summaries = summaries}});
}

StepDriver::Read StepDriver::start_round(Started next) {
  auto sets = std::ranges::count(round_, true, &SubStep::fresh_batch);
  double before_input = monotonic_seconds();
  any_ = reading([&] { return input_->read(sets, !sync_.alone()); });
  if (listeners_.stopped_reading()) return Read::stopped;
  next.began = monotonic_seconds();
  next.waited = next.began - before_input;
  int number = 0, set = -1;
  for (const SubStep& sub_step : round_) {
    UpdateSet chosen = sub_step.updates & next.chosen;
    bool last = ++number == std::ssize(round_);
    set += sub_step.fresh_batch;
    if (chosen.empty() && !last) continue;
    if (!hand_out_rows(chosen, set)) {
      settle();  // a hook may have a reason of its own to stop
      return Read::end;
    }
    if (last && next.summaries) collect_summaries(next, number - 1);
    start_sub_step(next, chosen, number - 1, last);
    if (sub_step.fresh_batch) next.rows += replicas_.rows().all;
  }
  started_ = std::move(next);
  return Read::batch;
}

// As soon as the first sub-step of a step is under way, the step before is settled.
void StepDriver::start_sub_step(Started& step, UpdateSet chosen, int number, bool last) {
  bool first = !std::exchange(step.begun, true);
  if (!replicas_.is_prepared(chosen) || step.traced) {  // preparing waits for the device
    settle();
    collect_results(step, step.last);
  }
  running_step = step.step;
  replicas_.prepare(chosen);
  if (first) ++under_way_;
  SubStepRun before = std::exchange(step.last, {});
  replicas_.start(step.traced, number);
  step.last = {&replicas_.started(), &model(), chosen};
  if (last) ++session_.state()->step;
  if (first) settle();
  collect_results(step, before);
}

// With the same batch, variables and random numbers as the sub-step that comes next, so what is
// shown is what that computes.
void StepDriver::collect_summaries(Started& step, int number) {
  settle();
  collect_results(step, step.last);
  running_step = step.step;
  with_context("while computing summaries, beside the step", [&] {
    replicas_.prepare_summaries();
    replicas_.run(number);
  });
  for (const Summary& summary : model().spec().summaries) {
    const Array& value = replicas_.executable(0).output(step.shown.size());
    step.shown.push_back({summary.name, summary.kind, value.clone()});
  }
}

// Waits for the end of a sub-step, unless that has been done.
void StepDriver::collect_results(Started& step, SubStepRun& sub_step) {
  if (!sub_step.towers) return;
  const Replicas::Started& towers = *std::exchange(sub_step.towers, nullptr);
  Replicas::collect(towers);
  const TowerExecutable& executable = *towers[0];  // all have the same results
  std::size_t output = 0;
  auto store_result = [&](std::size_t number, double& to) {
    if (sub_step.model->has_result(number, sub_step.chosen)) to = executable.output(output++).at(0);
  };
  store_result(0, loss_);
  for (std::size_t i = 0; i < values_.size(); ++i) store_result(i + 1, values_[i].second);
  for (std::size_t u : sub_step.chosen) {
    bool skipped = sub_step.model->may_be_skipped(u) && executable.output(output++).at(0) == 0;
    if (!skipped) step.applied |= {u};
  }
  step.times += Replicas::times(towers);
  if (step.traced) Replicas::append_trace(towers, trace_);
}

void StepDriver::settle() {
  if (!started_) return;
  Started step = *std::exchange(started_, {});
  running_step = step.step;
  collect_results(step, step.last);
  step.loss = loss_;
  listeners_.report(step);
}

void StepDriver::settle_after_failure() {
  if (under_way_ > 1) return;
  try {
    settle();
  } catch (...) {
  }
}

bool StepDriver::runs_behind() const {
  return !started_->traced && Replicas::under_way(*started_->last.towers);
}

}  // namespace belfry
