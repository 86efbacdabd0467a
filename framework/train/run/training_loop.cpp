#include <chrono>
#include <thread>

#include "belfry/framework/base/log.h"
#include "belfry/framework/train/run/training_impl.h"
#include "belfry/framework/train/run/training_plan.h"

namespace belfry {

bool Training::Impl::run_step(bool behind) {
  if (checkpoints_.is_done()) {
    if (checkpoints_.has_listeners()) driver_->settle();  // they may read variables
    if (checkpoints_.is_done()) checkpoints_.finish();    // a hook may have begun another
  }
  if (stage_ != Stage::steps || !start_step()) {
    driver_->settle();
    return false;
  }
  if (needs_result_now() || !behind || !driver_->runs_behind()) driver_->settle();
  if (sync().alone() && control().take_save_request()) {
    driver_->settle();
    save_checkpoint();
  }
  return true;
}

bool Training::Impl::needs_result_now() {
  bool now = false;
  for (const auto& hook : hooks_.all()) now |= hook->needs_result_now(*this, step());
  return now;
}

bool Training::Impl::start_step() {
  driver_->running_step = step() + 1;
  if (!agree_to_go_on()) return false;
  if (!hooks_.restored() && !prepare()) return false;
  const Model& model = driver_->model();
  StepRequest request{*this, step(), model.update_count(), model.all_updates()};
  for (const auto& hook : hooks_.all()) hook->before_step(request);
  if (stopping_ && sync().alone()) stage_ = Stage::over;
  if (stage_ == Stage::over) return false;
  StepDriver::Read read = driver_->next(request);
  if (read == StepDriver::Read::end) end_of_data();
  return read == StepDriver::Read::batch;
}

bool Training::Impl::agree_to_go_on() {
  WorkerSync::Agreed agreed;
  do {
    if (control().pause_requested()) driver_->settle();
    bool reached = last_ && step() >= *last_;  // takes a turn: not while others have theirs
    {
      auto others = session_->turns().let_others();
      if (agreed.pause) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (!stopping_) poll_outside();
      if (reached) request_stop("");  // nothing to do from the start
      agreed = sync().agree(wishes());
    }
    if (agreed.save) {
      driver_->settle();
      save_checkpoint();
    }
    if (!sync().alone()) control().show_paused(agreed.pause);
  } while (agreed.pause);
  if (agreed.interrupted) outside_.request();
  if (agreed.stopping >= 0) request_stop(concat("worker ", agreed.stopping, " asked for it"));
  if (stopping_) end_steps();
  return !stopping_;
}

bool Training::Impl::stopped_reading() {
  bool same_for_all = config_.batch == BatchPolicy::global;
  WorkerSync::Agreed agreed = sync().agree_on_batch(
      {.stop = input().stopped() || stopping_, .interrupted = input().stopped()},
      same_for_all && !sync().alone() ? input().digest() : 0, same_for_all);
  if (agreed.stopping < 0) return false;
  if (!sync().alone()) input().put_back();
  driver_->settle();
  if (agreed.interrupted) outside_.request();
  poll_outside();
  request_stop(concat("worker ", agreed.stopping, " asked for it"));
  end_steps();
  return true;
}

// Nobody is to hear of a stop any more: what is asked for from now on is for the end.
void Training::Impl::end_steps() {
  stage_ = Stage::over;
  if (outside_.requested()) session_->heed_training_stop();
}

void Training::Impl::end_of_data() {
  data_ended_ = true;
  stage_ = Stage::over;
  request_stop("");
}

bool Training::Impl::prepare() {
  StepDriver::Read first = driver_->first(input().restored() && last_);
  if (first == StepDriver::Read::stopped) return false;
  if (first == StepDriver::Read::end) {
    end_of_data();
    if (!input().restored()) log_warning("train: the input has no batch, so no step is run");
    if (input().restored() && !last_ && hooks_.saver()) save_checkpoint();
    return false;
  }
  Towers& towers = session_->towers();
  if (hooks_.saver() && !input().can_save() && is_chief())
    log_warning(
        "train: this input stream cannot save its position, so a resumed training would "
        "begin its data anew");
  if (is_chief())
    log_info("training on ", towers.description(), ", ",
             towers.strategy().describe_batch(input().batch_rows(), towers.workers().count()),
             step() > 0 ? concat("; going on from step ", step()) : "");
  hooks_.add_last(driver_->model().spec().hooks);
  driver_->prepare();
  std::vector<VariableOptions> variables = driver_->model().variables();
  session_->state()->fix(variables);
  sync().check_variables(variables);
  sync().check_graph(driver_->model().signature(), driver_->model().graph());
  PreparedTraining training{*session_,
                            config_,
                            options_,
                            hooks_,
                            *driver_,
                            step(),
                            last_,
                            [this](int tower, UpdateSet updates) -> const TowerPlan& {
                              return driver_->replicas().plan(tower, updates);
                            }};
  plan_ = describe_training(training) + memory_pictures(training);
  hooks_.begin(*this, session_->state()->position.hooks, origin("belfry.hooks"));
  checkpoints_.begin_listeners();
  if (outside_.requested()) poll_outside();  // what hooks do at their beginning may take long
  if (stopping_ && sync().alone()) stage_ = Stage::over;
  return stage_ == Stage::steps;
}

void Training::Impl::report(const DrivenStep& step) {
  result_.global_step = step.step;
  result_.loss = step.loss;
  ++result_.steps;
  result_.examples += step.rows;
  result_.input_wait_seconds += step.waited;
  result_.times += step.times;
  control().report(step.step, result_.loss, step.rows);
  StepResult seen{.context = *this,
                  .step = step.step,
                  .loss = result_.loss,
                  .rows = step.rows,
                  .step_seconds = monotonic_seconds() - step.began,
                  .input_wait_seconds = step.waited,
                  .values = driver_->values(),
                  .chosen = step.chosen,
                  .applied = step.applied,
                  .times = step.times,
                  .start_seconds = step.began,
                  .trace = driver_->trace(),
                  .summaries = step.shown};
  measure_speed(seen);
  bool judged = false;  // before it is saved: it outlives a full disk
  for (const auto& hook : hooks_.all()) {
    if (hook == hooks_.saver()) judged = (driver_->judged(), true);
    hook->after_step(seen);
  }
  if (!judged) driver_->judged();
}

WorkerSync::Wishes Training::Impl::wishes() {
  bool pause = control().pause_requested();
  bool saves_here = hooks_.restored() && (pause || !sync().alone());
  return {.stop = stopping_,
          .save = saves_here && control().take_save_request(),
          .pause = pause,
          .interrupted = outside_.requested()};
}

// Alone, training waits here while it is paused.
void Training::Impl::poll_outside() {
  auto interrupted = [this] { return outside_.requested(); };
  if (sync().alone()) control().wait_while_paused(interrupted);
  auto reason = outside_.reason();
  if (!reason) return;
  request_stop(*std::move(reason));
  outside_.request();  // who asked may not have come to that yet
}

void Training::Impl::measure_speed(const StepResult& seen) {
  double now = monotonic_seconds();
  result_.seconds = now - speed_.start_seconds;
  speed_.meter.add(seen);
  StepSums latest = speed_.meter.collect(*this, now);
  StepSums& sums = speed_.after_first_step;
  if (result_.steps > 1) sums += latest;
  if (sums.seconds > 0) result_.examples_per_second = sums.examples_per_second();
}

}  // namespace belfry
