#include "belfry/framework/train/training.h"

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/train/activity.h"
#include "belfry/framework/train/run/training_impl.h"
#include "belfry/framework/train/run/training_plan.h"

namespace belfry {
namespace {

// None owns a session that a test has made for itself.
std::shared_ptr<Session> shared(Session& session) {
  std::shared_ptr<Session> owned = session.weak_from_this().lock();
  return owned ? owned : std::shared_ptr<Session>(owned, &session);
}

TrainOptions with_control(TrainOptions options, TrainControl& own) {
  if (!options.control) options.control = &own;
  return options;
}

}  // namespace

Training::Impl::Impl(Session& s, std::string dir, RunConfig config, const InputFn& input_fn,
                     TrainOptions o, std::unique_ptr<LockFile> lock)
    : session_(shared(s)),
      config_(std::move(config)),
      options_(with_control(std::move(o), own_control_)),
      outside_(s.towers().workers(), config_, options_),
      last_(belfry::last_step(options_, s.state()->step)),
      hooks_(config_, options_, last_),
      driver_(std::make_unique<StepDriver>(
          s, hooks_.all(), hooks_.model_options(config_), input_fn, outside_.token(),
          StepListeners{.stopped_reading = [this] { return stopped_reading(); },
                        .report = [this](const DrivenStep& step) { report(step); }})),
      checkpoints_(*this, std::move(dir), options_.listeners, std::move(lock)) {
  auto turn = s.turns().acquire();
  s.begin_training(outside_.token());
  try {
    begin();
  } catch (...) {
    s.end_training();
    throw;
  }
}

Training::Impl::~Impl() {
  if (stage_ == Stage::ended) return;
  try {
    request_stop("the training was abandoned");
    finish();
  } catch (...) {
    log_failure("train: while ending an abandoned training", std::current_exception());
  }
  if (stage_ != Stage::ended) free_session();  // it could not even stop
}

void Training::Impl::begin() {
  sync().check_start(step(), session_->state()->seed(), session_->towers().strategy());
  if (options_.resume_input && !session_->state()->position.input.empty()) restore_input();
  result_.global_step = step();
  control().begin(step());
  speed_.start_seconds = monotonic_seconds();
}

std::string Training::Impl::origin(const char* entry) const {
  if (!session_->state()->position.of_all) return "the training before";
  return concat("entry `", entry, "` of ", checkpoint_path(model_dir(), step()));
}

void Training::Impl::restore_input() {
  with_context(concat("from ", origin("belfry.input")), [&] {
    TrainingPosition from = session_->state()->position;
    if (from.of_all) from.input = sync().own_position(from.input, driver_->reads_alone());
    if (from.input.empty()) return;
    try {
      auto others = session_->turns().let_others();
      input().restore(from.input);
    } catch (Error& error) {
      // Data that a stop has ended fit no position. No batch is read, so the position stays.
      if (outside_.requested()) return;
      std::uint64_t seed = session_->state()->seed();
      if (seed != config_.seed)
        error.add_context(concat("RunConfig::seed is ", config_.seed, ", the training began with ",
                                 seed, "; data that are shuffled by it may be the reason"));
      throw;
    }
  });
}

void Training::Impl::request_stop(std::string reason) {
  if (stopping_) return;
  stopping_ = true;
  // The end of the steps asked for is no interruption; it comes without a reason.
  result_.outcome = reason.empty() ? Outcome::finished : Outcome::stopped;
  result_.reason = std::move(reason);
}

Checkpoint Training::Impl::take_snapshot() {
  require(driver_->under_way() <= 1,
          "save_checkpoint: the next step is under way; a hook that saves in after_step says so "
          "in needs_result_now()");
  checkpoints_.before_save();
  // Nobody has looked at the folder yet.
  if (!hooks_.saver() && is_chief()) probe_writable(model_dir());
  auto state = session_->state();
  state->position = {input_position(), false, hooks_.states(state->position.hooks)};
  Checkpoint checkpoint = state->snapshot_of_all(session_->towers().workers());
  if (!driver_->reads_alone()) sync().gather_positions(checkpoint.input);
  return checkpoint;
}

std::string Training::Impl::save_checkpoint() {
  driver_->settle();
  TrainingPause pause(*this);
  ActivityScope activity({.what = concat("saving step ", step())});
  checkpoints_.give_way();
  return checkpoints_.write(take_snapshot());
}

void Training::Impl::begin_checkpoint() {
  if (!config_.save_in_background || stage_ == Stage::ended) {
    save_checkpoint();
    return;
  }
  driver_->settle();
  TrainingPause pause(*this);
  ActivityScope activity({.what = concat("saving step ", step())});
  checkpoints_.finish();
  checkpoints_.begin(take_snapshot());
}

// All steps are done, but the last evaluation may have been cut short. All workers say the same.
std::exception_ptr Training::Impl::hear_late_stop() {
  try {
    if (!sync().any_of_all(outside_.requested())) return {};
  } catch (const std::exception&) {
    return std::current_exception();
  }
  stopping_ = false;
  poll_outside();
  request_stop("another worker asked for it");
  return {};
}

std::exception_ptr Training::Impl::end_hooks(Outcome outcome) {
  stage_ = Stage::ended;
  std::exception_ptr first;
  try {
    first = end_listeners_too(outcome);
  } catch (...) {  // no memory: the session is free all the same
    first = std::current_exception();
  }
  free_session();
  return first;
}

void Training::Impl::free_session() {
  session_->end_training();
  control().finish();
  outside_.close();
  checkpoints_.unlock();
}

std::exception_ptr Training::Impl::end_listeners_too(Outcome outcome) {
  std::exception_ptr first = checkpoints_.end(outcome);  // some hooks may be listeners
  if (first) outcome = result_.outcome = Outcome::failed;
  if (std::exception_ptr error = hooks_.end(*this, outcome); error && !first) first = error;
  if (!first && result_.outcome == Outcome::finished) first = hear_late_stop();
  checkpoints_.end_listeners(first ? Outcome::failed : result_.outcome);
  if (!first) result_.signal = signal_of_all();
  if (!first && is_chief()) log_end();
  if (std::exception_ptr error = leave_session(); error && !first) first = error;
  return first;
}

// A signal that has come to any worker until now, also one that came too late to stop a step: the
// program is to end all the same. All workers have stopped, or none; one that has failed asks
// nobody, since the others would take that for an answer.
int Training::Impl::signal_of_all() {
  int own = outside_.signal();
  if (result_.outcome != Outcome::stopped) return own;
  try {
    return sync().first_of_all(own);
  } catch (const std::exception&) {  // another worker has failed, and says so
    return own;
  }
}

void Training::Impl::log_end() const {
  if (result_.outcome == Outcome::stopped) {
    log_info("training stopped at step ", step(), ": ", result_.reason,
             config_.save_checkpoint
                 ? concat("; it goes on from there with model_dir ", model_dir())
                 : "; RunConfig::save_checkpoint is off, so nothing is saved");
  } else if (data_ended_) {
    log_info("training ended at step ", step(), ", where the data end");
  }
}

void Training::Impl::announce_failure(const std::exception_ptr& error) noexcept {
  session_->towers().workers().announce_exception(error, "training failed in step ",
                                                  driver_->running_step, ": ");
}

std::exception_ptr Training::Impl::leave_session() {
  if (driver_->under_way() > 0) {
    session_->mark_broken();
  } else if (input().was_read()) {
    try {
      auto state = session_->state();
      state->position = {input_position(), false, hooks_.states(state->position.hooks)};
    } catch (...) {
      std::exception_ptr error = std::current_exception();
      log_failure("train: the input cannot say where it stands", error);
      session_->mark_broken();
      return error;
    }
  }
  return {};
}

bool Training::Impl::step(bool behind) {
  auto turn = session_->turns().acquire();
  try {
    return run_step(behind);
  } catch (...) {
    announce_failure(std::current_exception());
    driver_->settle_after_failure();
    result_.outcome = Outcome::failed;
    end_hooks(Outcome::failed);
    try {
      throw;
    } catch (Error& error) {
      error.add_context(concat("in training step ", driver_->running_step));
      throw;
    }
  }
}

const TrainResult& Training::Impl::finish() {
  auto turn = session_->turns().acquire();
  if (stage_ != Stage::ended) {
    std::exception_ptr error = end_hooks(result_.outcome);
    if (error) announce_failure(error);
    result_.seconds = monotonic_seconds() - speed_.start_seconds;
    if (error) std::rethrow_exception(error);
  }
  return result_;
}

Training::Training(Session& session, std::string model_dir, RunConfig config,
                   const InputFn& input_fn, TrainOptions options, std::unique_ptr<LockFile> lock)
    : impl_(std::make_unique<Impl>(session, std::move(model_dir), std::move(config), input_fn,
                                   std::move(options), std::move(lock))) {}
Training::Training(Training&&) noexcept = default;
Training::~Training() = default;

bool Training::step() { return impl_->step(false); }

void Training::run() {
  while (impl_->step(true)) {
  }
}

TrainResult Training::finish() { return impl_->finish(); }

const TrainResult& Training::result() const { return impl_->result(); }

TrainControl& Training::control() { return impl_->control(); }

}  // namespace belfry
