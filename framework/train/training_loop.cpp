#include <algorithm>
#include <chrono>
#include <thread>

#include "belfry/framework/base/log.h"
#include "belfry/framework/train/training_impl.h"
#include "belfry/framework/train/training_plan.h"

namespace belfry {

bool Training::Impl::run_step(bool behind) {
  finish_writing(false);
  if (ended || over || !start_step()) {
    settle();
    return false;
  }
  if (needs_result_now() || !behind || !Replicas::under_way(*started->last.towers)) settle();
  if (sync.alone() && options.control->take_save_request()) {
    settle();
    save_checkpoint();
  }
  return true;
}

bool Training::Impl::needs_result_now() {
  bool now = started->traced;
  for (const auto& hook : hooks.all()) now |= hook->needs_result_now(*this, session.step());
  return now;
}

void Training::Impl::settle() {
  if (!started) return;
  Started step = *std::exchange(started, {});
  running_step = step.step;
  take_results(step, step.last);
  report(step);
}

void Training::Impl::settle_after_failure() {
  if (steps_under_way > 1) return;  // what failed may be this step
  try {
    settle();
  } catch (...) {
    // The first failure is the one to tell of.
  }
}

bool Training::Impl::start_step() {
  running_step = session.step() + 1;
  if (!agree_to_go_on()) return false;
  if (!begun_hooks && !prepare()) return false;
  StepRequest request{*this, session.step(), replicas.model().update_count(),
                      replicas.model().all_updates()};
  for (const auto& hook : hooks.all()) hook->before_step(request);
  if (over = stopping && sync.alone(); over) return false;
  bool summaries = request.summaries && !replicas.model().spec().summaries.empty();
  // The device has nothing else to do, and no batch is taken yet: a hook may save.
  if (request.trace || summaries) settle();
  trace.clear();
  return start_round({.step = session.step() + 1,
                      .chosen = request.chosen & replicas.model().all_updates(),
                      .traced = request.trace,
                      .summaries = request.summaries});
}

bool Training::Impl::start_round(Started next) {
  auto sets =
      std::count_if(round.begin(), round.end(), [](auto& part) { return part.fresh_batch; });
  double before_input = monotonic_seconds();
  bool any = waiting([&] { return input.read(static_cast<int>(sets), !sync.alone()); });
  if (stopped_reading()) return false;
  next.began = monotonic_seconds();
  next.waited = next.began - before_input;
  int number = 0, set = -1;
  for (const SubStep& part : round) {
    bool last = ++number == std::ssize(round);
    set += part.fresh_batch;
    if ((part.updates & next.chosen) == 0 && !last) continue;
    if (!share_out(any, part.updates & next.chosen, set)) return false;
    if (last && next.summaries) take_summaries(next, number - 1);
    start_part(next, part.updates & next.chosen, number - 1, last);
    if (part.fresh_batch) next.rows += replicas.rows().all;
  }
  started = std::move(next);
  return true;
}

void Training::Impl::start_part(Started& step, std::uint64_t chosen, int number, bool last) {
  bool first = !std::exchange(step.begun, true);
  if (!replicas.is_prepared(chosen) || step.traced) {  // preparing waits for the device
    settle();
    take_results(step, step.last);
  }
  running_step = step.step;
  replicas.prepare(chosen);
  if (first) ++steps_under_way;
  Part before = std::exchange(step.last, {});
  replicas.start(step.traced, number);
  step.last = {&replicas.started(), &replicas.model(), chosen};
  if (last) session.finish_step();
  if (first) settle();
  take_results(step, before);
}

// With the same batch, variables and random numbers as the sub-step that comes next, so what is
// shown is what that computes.
void Training::Impl::take_summaries(Started& step, int number) {
  if (replicas.model().spec().summaries.empty()) return;
  settle();
  take_results(step, step.last);
  running_step = step.step;
  with_context("while computing summaries, beside the step", [&] {
    replicas.prepare_summaries();
    replicas.run(number);
  });
  for (const Summary& summary : replicas.model().spec().summaries) {
    const Array& value = replicas.executable(0).output(step.shown.size());
    step.shown.push_back({summary.name, summary.kind, value.clone()});
  }
}

void Training::Impl::take_results(Started& step, Part& part) {
  if (!part.towers) return;
  const Replicas::Started& towers = *std::exchange(part.towers, nullptr);
  Replicas::collect(towers);
  const TowerExecutable& executable = *towers[0];  // all have the same results
  std::size_t output = 0;
  auto take = [&](std::size_t number, double& to) {
    if (part.model->has_result(number, part.chosen)) to = executable.output(output++).at(0);
  };
  take(0, result.loss);
  for (std::size_t i = 0; i < values.size(); ++i) take(i + 1, values[i].second);
  for (std::size_t u = 0; u < part.model->update_count(); ++u) {
    std::uint64_t bit = std::uint64_t{1} << u;
    if ((part.chosen & bit) == 0) continue;
    bool skipped = part.model->may_be_skipped(u) && executable.output(output++).at(0) == 0;
    if (!skipped) step.applied |= bit;
  }
  step.times += Replicas::times(towers);
  if (step.traced) Replicas::append_trace(towers, trace);
}

bool Training::Impl::agree_to_go_on() {
  WorkerSync::Agreed agreed;
  do {
    if (options.control->pause_requested()) settle();
    agreed = waiting([&] {
      if (agreed.pause) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (!stopping) poll_outside();
      if (last && session.step() >= *last) request_stop("");  // nothing to do from the start
      return sync.agree(wishes());
    });
    if (agreed.save) {
      settle();
      save_checkpoint();
    }
    if (!sync.alone()) options.control->show_paused(agreed.pause);
  } while (agreed.pause);
  if (agreed.interrupted) outside.request();
  if (agreed.stopping >= 0) request_stop(concat("worker ", agreed.stopping, " asked for it"));
  over = stopping;
  if (over) heed_stop();
  return !over;
}

bool Training::Impl::stopped_reading() {
  bool same_for_all = config_.batch == BatchPolicy::global;
  WorkerSync::Agreed agreed =
      sync.agree_on_batch({.stop = input.stopped() || stopping, .interrupted = input.stopped()},
                          same_for_all && !sync.alone() ? input.digest() : 0, same_for_all);
  if (agreed.stopping < 0) return false;
  if (!sync.alone()) input.put_back();
  settle();
  if (agreed.interrupted) outside.request();
  poll_outside();
  request_stop(concat("worker ", agreed.stopping, " asked for it"));
  over = true;
  heed_stop();
  return true;
}

bool Training::Impl::share_out(bool any, std::uint64_t chosen, int set) {
  if (any && config_.batch == BatchPolicy::per_tower) {
    replicas.take(input.batches(set));
  } else if (any) {
    replicas.split(input.batches(set)[0]);
  }
  if (!reads_alone()) {
    StepRows rows = sync.exchange_rows(any ? replicas.rows() : StepRows(), chosen);
    if (!any && rows.all > 0) take_nothing();
    any = rows.all > 0;
    if (any) replicas.place(rows);
  }
  require(!any || replicas.rows().all > 0,
          "train: the batch has no rows; leave such batches out of the stream");
  if (!any) {
    settle();  // a hook may have a reason of its own to stop
    end_of_data();
  }
  return any;
}

void Training::Impl::take_nothing() {
  const Features* batch = waiting([&] { return input.any(); });
  require(batch,
          "train: input_fn gives other workers batches but this one none, not even as the "
          "only pipeline");
  replicas.take_nothing(*batch);
}

void Training::Impl::end_of_data() {
  data_ended_ = true;
  over = true;
  request_stop("");
}

// A worker without data looks for the batch that stands for its own before all agree on a stop,
// which may end that wait too.
bool Training::Impl::prepare() {
  bool need_any = !reads_alone();
  bool any = waiting([&] { return input.read_first(need_any); });
  if (stopped_reading()) return false;
  bool begins_anew = input.restored() && last;
  if (begins_anew && !(reads_alone() ? any : sync.any_of_all(any))) {
    any = waiting([&] { return input.begin_anew(need_any); });
    if (stopped_reading()) return false;
  }
  if (!share_out(any, 0)) {
    if (!input.restored()) log_warning("train: the input has no batch, so no step is run");
    if (input.restored() && !last && hooks.saver()) save_checkpoint();
    return false;
  }
  if (hooks.saver() && !input.can_save() && is_chief())
    log_warning(
        "train: this input stream cannot save its position, so a resumed training would "
        "begin its data anew");
  if (is_chief())
    log_info("training on ", session.describe_devices(), ", ",
             session.strategy().describe_batch(input.batch_rows(), session.workers().count()));
  replicas.prepare_models();
  const EstimatorSpec& spec = replicas.model().spec();
  for (const auto& [name, tensor] : spec.values) values.emplace_back(name, 0.0);
  hooks.add_last(spec.hooks);
  round.assign(replicas.model().round().begin(), replicas.model().round().end());
  for (const SubStep& part : round) replicas.prepare(part.updates & replicas.model().all_updates());
  session.fix_variables(replicas.model());
  sync.check_variables(replicas.model().variables());
  plan_ = describe();
  hooks.begin(*this, session.hook_states(), origin("belfry.hooks"));
  begun_hooks = true;
  begin_listeners();
  if (outside.requested()) poll_outside();  // what hooks do at their beginning may take long
  over = stopping && sync.alone();
  return !over;
}

std::string Training::Impl::describe() const {
  PreparedTraining training{.session = session,
                            .config = config_,
                            .options = options,
                            .hooks = hooks,
                            .replicas = replicas,
                            .first_step = session.step(),
                            .last_step = last,
                            .batch_rows = input.batch_rows(),
                            .plan = [this](int tower, std::uint64_t updates) -> const TowerPlan& {
                              return replicas.plan(tower, updates);
                            }};
  return describe_training(training) + memory_pictures(training);
}

void Training::Impl::report(const Started& step) {
  result.global_step = step.step;
  ++result.steps;
  result.examples += step.rows;
  result.input_wait_seconds += step.waited;
  result.times += step.times;
  options.control->report(step.step, result.loss, step.rows);
  StepResult seen{.context = *this,
                  .step = step.step,
                  .loss = result.loss,
                  .rows = step.rows,
                  .step_seconds = monotonic_seconds() - step.began,
                  .input_wait_seconds = step.waited,
                  .values = values,
                  .chosen = step.chosen,
                  .applied = step.applied,
                  .times = step.times,
                  .start_seconds = step.began,
                  .trace = trace,
                  .summaries = step.shown};
  measure_speed(seen);
  bool judged = false;  // before it is saved: it outlives a full disk
  for (const auto& hook : hooks.all()) {
    if (hook == hooks.saver()) judged = (--steps_under_way, true);
    hook->after_step(seen);
  }
  if (!judged) --steps_under_way;
}

WorkerSync::Wishes Training::Impl::wishes() {
  bool pause = options.control->pause_requested();
  bool saves_here = begun_hooks && (pause || !sync.alone());
  return {.stop = stopping,
          .save = saves_here && options.control->take_save_request(),
          .pause = pause,
          .interrupted = outside.requested()};
}

// Alone, training waits here while it is paused.
void Training::Impl::poll_outside() {
  auto interrupted = [this] { return outside.requested(); };
  if (sync.alone()) options.control->wait_while_paused(interrupted);
  auto reason = outside.reason();
  if (!reason) return;
  request_stop(*std::move(reason));
  outside.request();  // who asked may not have come to that yet
}

void Training::Impl::heed_stop() {
  if (outside.requested()) session.heed_training_stop();
}

// The first step, which compiles, does not count.
void Training::Impl::measure_speed(const StepResult& seen) {
  double now = monotonic_seconds();
  result.seconds = now - start_seconds;
  meter.add(seen);
  StepSums latest = meter.take(*this, now);
  if (result.steps > 1) after_first_step += latest;
  if (after_first_step.seconds > 0)
    result.examples_per_second = after_first_step.examples_per_second();
}

}  // namespace belfry
