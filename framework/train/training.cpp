#include "belfry/framework/train/training.h"

#include <chrono>
#include <exception>
#include <thread>

#include "belfry/framework/base/file.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/train/hook_list.h"
#include "belfry/framework/train/replicas.h"
#include "belfry/framework/train/session.h"
#include "belfry/framework/train/signals.h"
#include "belfry/framework/train/step_input.h"
#include "belfry/framework/train/worker_sync.h"

namespace belfry {
namespace {

// The step at which this call ends, if it is bounded.
std::optional<std::int64_t> last_step(const TrainOptions& options, std::int64_t first_step) {
  std::optional<std::int64_t> last = options.max_steps;
  if (options.steps) {
    std::int64_t end = first_step + *options.steps;
    last = last ? std::min(*last, end) : end;
  }
  return last;
}

}  // namespace

struct Training::Impl final : HookContext {
  Impl(Session& s, std::string dir, RunConfig c, const InputFn& fn, TrainOptions o)
      : session(s),
        dir_(std::move(dir)),
        config_(std::move(c)),
        options(std::move(o)),
        sync(session.workers()),
        input(fn, session.input_context(),
              config_.batch == BatchPolicy::per_tower ? session.strategy().size() : 1),
        last(belfry::last_step(options, session.step())),
        hooks(config_, options, last),
        replicas(session, Mode::train, hooks.all(),
                 {.micro_batches = hooks.micro_batches(), .bucket = config_.bucket}) {
    session.begin_training();
    sync.check_start(session.step(), session.state().seed, session.strategy());
    if (options.resume_input && !session.input_position().empty()) restore_input();
    if (config_.stop_on_signals) signals.emplace();
    result.global_step = session.step();
    if (options.control) options.control->begin(session.step());
    start_seconds = monotonic_seconds();
  }

  bool reads_alone() const { return sync.alone() || config_.batch == BatchPolicy::global; }

  void restore_input() {
    std::string position = session.input_position();
    if (session.position_of_all()) position = sync.own_position(position, reads_alone());
    if (!position.empty()) input.restore(position);
  }

  // ---- HookContext
  std::int64_t step() const override { return session.step(); }
  std::optional<std::int64_t> last_step() const override { return last; }
  bool data_ended() const override { return data_ended_; }
  const RunConfig& config() const override { return config_; }
  const std::string& model_dir() const override { return dir_; }
  Variables& variables() override { return session.variables(); }
  std::vector<InputStage> input_stages() const override { return input.stages(); }
  bool is_chief() const override { return sync.is_chief(); }
  bool chief_decides(bool own) override { return sync.chief_decides(own); }
  double clock() const override { return sync.clock(); }
  void request_stop(std::string reason) override {
    if (stopping) return;
    stopping = true;
    // The end of the steps asked for is no interruption; it comes without a reason.
    result.outcome = reason.empty() ? Outcome::finished : Outcome::stopped;
    result.reason = std::move(reason);
  }
  std::string save_checkpoint() override {
    if (is_chief())
      for (const auto& l : options.listeners) l->before_save(*this);
    if (!hooks.saver() && is_chief()) probe_writable(dir_);  // nobody has looked at the folder yet
    session.leave_off(input_position(), hooks.states(session.hook_states()));
    Checkpoint checkpoint = session.snapshot_of_all();
    if (!reads_alone()) sync.gather_positions(checkpoint.input);
    if (!is_chief()) return checkpoint_path(dir_, session.step());
    std::string path = belfry::save_checkpoint(dir_, checkpoint, config_.keep_checkpoint_max);
    log_info("saved ", path);
    for (const auto& l : options.listeners) l->after_save(*this, path);
    return path;
  }

  std::string input_position() const { return data_ended_ ? std::string() : input.position(); }

  // ---- the loop
  bool run_step() {
    if (ended || over) return false;
    running_step = session.step() + 1;
    if (!agree_to_go_on()) return false;
    if (!begun_hooks && !prepare()) return false;
    StepRequest request{*this, session.step(), replicas.model().update_count(), all_updates()};
    for (const auto& hook : hooks.all()) hook->before_step(request);
    std::uint64_t chosen = request.chosen & all_updates();
    double before_input = monotonic_seconds();
    bool any = input.read();
    double before_step = monotonic_seconds();
    if (!share_out(any, chosen)) return false;
    replicas.prepare(chosen);
    step_under_way = true;
    replicas.run();
    session.finish_step();
    report(chosen, before_step - before_input, monotonic_seconds() - before_step);
    return true;
  }

  // All workers go on, or none.
  bool agree_to_go_on() {
    WorkerSync::Agreed agreed;
    do {
      if (agreed.pause) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (!stopping) poll_outside();
      if (last && session.step() >= *last) request_stop("");  // nothing to do from the start
      agreed = sync.agree(wishes());
      if (agreed.save) save_checkpoint();
      if (!sync.alone() && options.control) options.control->show_paused(agreed.pause);
    } while (agreed.pause);
    if (agreed.stopping >= 0) request_stop(concat("worker ", agreed.stopping, " asked for it"));
    over = stopping;
    return !over;
  }

  // Gives the towers their rows; false when no worker has any.
  bool share_out(bool any, std::uint64_t chosen) {
    if (any && config_.batch == BatchPolicy::per_tower) {
      replicas.take(input.batches());
    } else if (any) {
      replicas.split(input.batches()[0]);
    }
    if (!reads_alone()) {
      StepRows rows = sync.exchange_rows(any ? replicas.rows() : StepRows(), chosen);
      if (!any && rows.all > 0) take_nothing();
      any = rows.all > 0;
      if (any) replicas.place(rows);
    }
    if (!any) end_of_data();
    return any;
  }

  // Other workers still have rows.
  void take_nothing() {
    const Features* batch = input.any();
    require(batch,
            "train: input_fn gives other workers batches but this one none, not even as the "
            "only pipeline");
    replicas.take_nothing(*batch);
  }

  void end_of_data() {
    data_ended_ = true;
    over = true;
    request_stop("");
  }

  // The first batch says what to compile, and so must come before the hooks begin. A checkpoint
  // that they write is one from before that batch. Data that an earlier training has read to their
  // end begin anew if a number of steps is asked for. Otherwise training to the end of the data is
  // done; the call after this one begins anew.
  bool prepare() {
    bool any = input.read_first();
    bool begins_anew = input.restored() && last;
    if (begins_anew && !(reads_alone() ? any : sync.any_of_all(any))) any = input.begin_anew();
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
      log_info("training on ", describe_towers(), ", ",
               session.strategy().describe_batch(row_count(input.batches()[0]),
                                                 session.workers().count()));
    replicas.prepare_models();
    const EstimatorSpec& spec = replicas.model().spec();
    for (const auto& [name, tensor] : spec.values) values.emplace_back(name, 0.0);
    hooks.add_last(spec.hooks);
    replicas.prepare(all_updates());
    hooks.begin(*this, session.hook_states());
    begun_hooks = true;
    over = stopping && sync.alone();
    return !over;
  }

  void report(std::uint64_t chosen, double waited, double seconds) {
    const TowerExecutable& executable = replicas.executable(0);  // all have the same results
    result.global_step = session.step();
    result.loss = executable.output(0).at(0);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i].second = executable.output(i + 1).at(0);
    std::uint64_t applied = chosen;
    std::size_t output = 1 + values.size();
    for (std::size_t u = 0; u < replicas.model().update_count(); ++u) {
      bool asked = (chosen >> u & 1) && replicas.model().may_be_skipped(u);
      if (asked && executable.output(output++).at(0) == 0) applied &= ~(std::uint64_t{1} << u);
    }
    std::int64_t rows = replicas.rows().all;
    ++result.steps;
    result.examples += rows;
    result.input_wait_seconds += waited;
    StepTimes times = replicas.times();
    result.times += times;
    measure_speed(rows);
    if (options.control) options.control->report(session.step(), result.loss, rows);
    StepResult step{*this,  session.step(), result.loss, rows,    seconds,
                    waited, values,         chosen,      applied, times};
    for (const auto& hook : hooks.all()) {
      if (hook == hooks.saver())
        step_under_way = false;  // the step was found good: it outlives a full disk
      hook->after_step(step);
    }
    step_under_way = false;
    if (sync.alone() && options.control && options.control->take_save_request()) save_checkpoint();
  }

  // Alone, training waits while it is paused, and saves right after the step.
  WorkerSync::Wishes wishes() {
    if (sync.alone() || !options.control) return {.stop = stopping};
    return {.stop = stopping,
            .save = begun_hooks && options.control->take_save_request(),
            .pause = options.control->pause_requested()};
  }

  void poll_outside() {
    std::string reason;
    auto interrupted = [this] { return signals && signals->received(); };
    auto stop_asked_for = [&](TrainControl& control) {
      return sync.alone() ? control.wait_and_check_stop(reason, interrupted)
                          : control.stop_requested(reason);
    };
    if (options.control && stop_asked_for(*options.control)) request_stop(std::move(reason));
    if (signals && signals->received()) request_stop(signals->received());
  }

  std::uint64_t all_updates() const {
    std::size_t count = replicas.model().update_count();
    return count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  }

  std::string describe_towers() const {
    const auto& towers = session.strategy().towers;
    if (towers.size() == 1 && towers[0].devices.size() == 1)
      return towers[0].devices[0]->description();
    std::vector<std::string> names;
    for (const Tower& tower : towers) names.push_back(tower.name());
    return join(names, ", ");
  }

  std::exception_ptr end_hooks(Outcome outcome) {
    ended = true;
    std::exception_ptr first = hooks.end(*this, outcome);
    if (std::exception_ptr error = leave_session(); error && !first) first = error;
    if (options.control) options.control->finish();
    signals.reset();
    return first;
  }

  // The other workers would wait for this one in vain.
  void announce_failure(const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      session.workers().announce_failure(
          concat("training failed in step ", running_step, ": ", e.what()));
    } catch (...) {
      session.workers().announce_failure("training failed");
    }
  }

  // A failure in between two steps costs none of the finished ones. Returns what went wrong here.
  std::exception_ptr leave_session() {
    if (step_under_way) {
      session.mark_broken();
    } else if (input.was_read()) {
      try {
        session.leave_off(input_position(), hooks.states(session.hook_states()));
      } catch (const std::exception& error) {
        log_line(LogLevel::error,
                 concat("train: the input cannot say where it stands: ", error.what()));
        session.mark_broken();
        return std::current_exception();
      }
    }
    return {};
  }

  // The first step, which also compiles, is left out of the speed.
  void measure_speed(std::int64_t rows) {
    double now = monotonic_seconds();
    result.seconds = now - start_seconds;
    if (result.steps == 1) {
      first_step_at = now;
      first_rows = rows;
    } else if (now > first_step_at) {
      result.examples_per_second =
          static_cast<double>(result.examples - first_rows) / (now - first_step_at);
    }
  }

  Session& session;
  std::string dir_;
  RunConfig config_;
  TrainOptions options;
  WorkerSync sync;
  StepInput input;
  std::optional<std::int64_t> last;
  HookList hooks;
  Replicas replicas;
  std::optional<SignalGuard> signals;
  bool begun_hooks = false;
  std::vector<std::pair<std::string, double>> values;  // EstimatorSpec::values
  TrainResult result;
  bool stopping = false, data_ended_ = false, ended = false;
  bool over = false;            // no worker runs another step
  bool step_under_way = false;  // the variables may be those of no step, or not be judged yet
  std::int64_t running_step = 0;
  double start_seconds = 0, first_step_at = 0;
  std::int64_t first_rows = 0;
};

Training::Training(Session& session, std::string model_dir, RunConfig config,
                   const InputFn& input_fn, TrainOptions options)
    : impl_(std::make_unique<Impl>(session, std::move(model_dir), std::move(config), input_fn,
                                   std::move(options))) {}

Training::Training(Training&&) noexcept = default;

Training::~Training() {
  if (!impl_ || impl_->ended) return;
  try {
    impl_->request_stop("the training was abandoned");
    finish();
  } catch (const std::exception& error) {
    log_line(LogLevel::error, concat("train: while ending an abandoned training: ", error.what()));
  } catch (...) {
    log_line(LogLevel::error, "train: while ending an abandoned training: an unknown exception");
  }
}

bool Training::step() {
  try {
    return impl_->run_step();
  } catch (...) {
    impl_->result.outcome = Outcome::failed;
    impl_->announce_failure(std::current_exception());
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
  if (!impl_->ended) {
    std::exception_ptr error = impl_->end_hooks(impl_->result.outcome);
    if (error) impl_->announce_failure(error);
    impl_->result.seconds = monotonic_seconds() - impl_->start_seconds;
    if (error) std::rethrow_exception(error);
  }
  return impl_->result;
}

const TrainResult& Training::result() const { return impl_->result; }

}  // namespace belfry
