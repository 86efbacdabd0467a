#include "belfry/framework/train/training.h"

#include "belfry/framework/base/file.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/base/what_of.h"
#include "belfry/framework/train/run/training_impl.h"
#include "belfry/framework/train/run/training_plan.h"

namespace belfry {

Training::Impl::Impl(Session& s, std::string dir, RunConfig c, const InputFn& fn, TrainOptions o,
                     std::unique_ptr<LockFile> l)
    : lock(std::move(l)),
      alive(s.weak_from_this().lock()),
      session(s),
      dir_(std::move(dir)),
      config_(std::move(c)),
      options(with_control(std::move(o))),
      sync(session.workers()),
      outside(session.workers(), config_, options),
      input(fn, input_context(),
            config_.batch == BatchPolicy::per_tower ? session.strategy().size() : 1),
      last(belfry::last_step(options, session.step())),
      hooks(config_, options, last),
      replicas(session, Mode::train, hooks.all(),
               {.micro_batches = hooks.micro_batches(), .bucket = config_.bucket}) {
  auto turn = session.turns().take();
  session.begin_training(outside.token());
  try {
    begin();
  } catch (...) {
    session.end_training();
    throw;
  }
}

void Training::Impl::begin() {
  sync.check_start(session.step(), session.state().seed, session.strategy());
  if (options.resume_input && !session.input_position().empty()) restore_input();
  result.global_step = session.step();
  options.control->begin(session.step());
  start_seconds = monotonic_seconds();
}

TrainOptions Training::Impl::with_control(TrainOptions o) {
  if (!o.control) o.control = &own_control;
  return o;
}

InputContext Training::Impl::input_context() const {
  InputContext context = session.input_context();
  context.stop = outside.token();
  return context;
}

std::string Training::Impl::origin(const char* entry) const {
  if (!session.position_of_all()) return "the training before";
  return concat("entry `", entry, "` of ", checkpoint_path(dir_, session.step()));
}

void Training::Impl::restore_input() {
  with_context(concat("from ", origin("belfry.input")), [&] {
    std::string position = session.input_position();
    if (session.position_of_all()) position = sync.own_position(position, reads_alone());
    if (position.empty()) return;
    try {
      waiting([&] { input.restore(position); });
    } catch (Error& error) {
      // Data that a stop has ended fit no position. No batch is read, so the position stays.
      if (outside.requested()) return;
      std::uint64_t seed = session.state().seed;
      if (seed != config_.seed)
        error.add_context(concat("RunConfig::seed is ", config_.seed, ", the training began with ",
                                 seed, "; data that are shuffled by it may be the reason"));
      throw;
    }
  });
}

void Training::Impl::request_stop(std::string reason) {
  if (stopping) return;
  stopping = true;
  // The end of the steps asked for is no interruption; it comes without a reason.
  result.outcome = reason.empty() ? Outcome::finished : Outcome::stopped;
  result.reason = std::move(reason);
}

// All steps are done, but the last evaluation may have been cut short. All workers say the same.
std::exception_ptr Training::Impl::hear_late_stop() {
  try {
    if (!sync.any_of_all(outside.requested())) return {};
  } catch (const std::exception&) {
    return std::current_exception();
  }
  stopping = false;
  poll_outside();
  request_stop("another worker asked for it");
  return {};
}

std::exception_ptr Training::Impl::end_hooks(Outcome outcome) {
  ended = true;
  std::exception_ptr first = end_writing(outcome);  // before the hooks: some may be listeners
  if (first) outcome = result.outcome = Outcome::failed;
  if (std::exception_ptr error = hooks.end(*this, outcome); error && !first) first = error;
  if (!first && result.outcome == Outcome::finished) first = hear_late_stop();
  end_listeners(first ? Outcome::failed : result.outcome);
  if (std::exception_ptr error = leave_session(); error && !first) first = error;
  session.end_training();
  options.control->finish();
  outside.close();
  lock.reset();
  return first;
}

void Training::Impl::announce_failure(const std::exception_ptr& error) {
  session.workers().announce_failure(
      concat("training failed in step ", running_step, ": ", what_of(error)));
}

std::exception_ptr Training::Impl::leave_session() {
  if (steps_under_way > 0) {
    session.mark_broken();
  } else if (input.was_read()) {
    try {
      session.leave_off(input_position(), hooks.states(session.hook_states()));
    } catch (...) {
      std::exception_ptr error = std::current_exception();
      log_line(LogLevel::error,
               concat("train: the input cannot say where it stands: ", what_of(error)));
      session.mark_broken();
      return error;
    }
  }
  return {};
}

Training::Training(Session& session, std::string model_dir, RunConfig config,
                   const InputFn& input_fn, TrainOptions options, std::unique_ptr<LockFile> lock)
    : impl_(std::make_unique<Impl>(session, std::move(model_dir), std::move(config), input_fn,
                                   std::move(options), std::move(lock))) {}

Training::Training(Training&&) noexcept = default;

Training::~Training() {
  if (!impl_ || impl_->ended) return;
  try {
    impl_->request_stop("the training was abandoned");
    finish();
  } catch (...) {
    log_line(LogLevel::error, concat("train: while ending an abandoned training: ",
                                     what_of(std::current_exception())));
  }
}

bool Training::step() { return step(false); }

void Training::run() {
  while (step(true)) {
  }
}

bool Training::step(bool behind) {
  auto turn = impl_->session.turns().take();
  try {
    return impl_->run_step(behind);
  } catch (...) {
    impl_->announce_failure(std::current_exception());
    impl_->settle_after_failure();
    impl_->result.outcome = Outcome::failed;
    impl_->end_hooks(Outcome::failed);
    try {
      throw;
    } catch (Error& error) {
      error.add_context(concat("in training step ", impl_->running_step));
      throw;
    }
  }
}

TrainResult Training::finish() {
  auto turn = impl_->session.turns().take();
  if (!impl_->ended) {
    std::exception_ptr error = impl_->end_hooks(impl_->result.outcome);
    if (error) impl_->announce_failure(error);
    impl_->result.seconds = monotonic_seconds() - impl_->start_seconds;
    if (error) std::rethrow_exception(error);
  }
  return impl_->result;
}

const TrainResult& Training::result() const { return impl_->result; }

TrainControl& Training::control() { return *impl_->options.control; }

}  // namespace belfry
