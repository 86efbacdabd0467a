#include "belfry/framework/train/training.h"

#include <exception>
#include <set>

#include "belfry/framework/base/file.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/train/built_in_hooks.h"
#include "belfry/framework/train/replicas.h"
#include "belfry/framework/train/session.h"
#include "belfry/framework/train/signals.h"

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

Hooks all_hooks(const RunConfig& config, const TrainOptions& options,
                std::optional<std::int64_t> last) {
  Hooks hooks = options.hooks;
  if (last) hooks.push_back(stop_at_step(*last));
  hooks.push_back(stop_on_non_finite());
  if (config.log_step_count.count > 0) hooks.push_back(log_steps(config.log_step_count));
  return hooks;
}

void check_hooks(const Hooks& hooks) {
  std::set<std::string> names;
  for (const auto& hook : hooks) {
    require(hook != nullptr, "train: a hook is null");
    std::string name = hook->name();
    require(name.empty() || names.insert(name).second, "train: two hooks are named `", name,
            "`, so their states in a checkpoint could not be told apart");
  }
}

}  // namespace

struct Training::Impl final : HookContext {
  Impl(Session& s, std::string dir, RunConfig c, const InputFn& fn, TrainOptions o)
      : session(s),
        dir_(std::move(dir)),
        config_(std::move(c)),
        options(std::move(o)),
        input_fn(fn),
        input(open_input()),
        last(belfry::last_step(options, session.step())),
        hooks((check_hooks(options.hooks), all_hooks(config_, options, last))),
        replicas(session, Mode::train, hooks, model_options()) {
    check_hooks(hooks);
    if (config_.save_checkpoint) saver = save_checkpoints(*config_.save_checkpoint);
    require(saver || options.listeners.empty(),
            "train: there are checkpoint listeners but RunConfig::save_checkpoint is off");
    const std::string& position = session.input_position();
    if (options.resume_input && !position.empty()) {
      resumed_input = true;
      with_context(
          "while restoring the input position of the checkpoint; train with .resume_input = "
          "false to begin the data anew",
          [&] { input->restore(position); });
    }
    if (config_.stop_on_signals) signals.emplace();
    result.global_step = session.step();
    if (options.control) options.control->begin(session.step());
    start_seconds = monotonic_seconds();
  }

  InputStreamPtr open_input() const {
    InputStreamPtr fresh = input_fn();
    require(fresh, "train: input_fn returned no stream");
    return fresh;
  }

  // ---- HookContext
  std::int64_t step() const override { return session.step(); }
  std::optional<std::int64_t> last_step() const override { return last; }
  bool data_ended() const override { return data_ended_; }
  const RunConfig& config() const override { return config_; }
  const std::string& model_dir() const override { return dir_; }
  Variables& variables() override { return session.variables(); }
  std::vector<InputStage> input_stages() const override { return input->stages(); }
  void request_stop(std::string reason) override {
    if (stopping) return;
    stopping = true;
    // The end of the steps asked for is no interruption; it comes without a reason.
    result.outcome = reason.empty() ? Outcome::finished : Outcome::stopped;
    result.reason = std::move(reason);
  }
  std::string save_checkpoint() override {
    for (const auto& l : options.listeners) l->before_save(*this);
    if (!saver) probe_writable(dir_);  // saving is off: nobody has looked at the folder yet
    session.leave_off(input_position(), states_of_hooks());
    Checkpoint checkpoint = session.snapshot();
    std::string path = belfry::save_checkpoint(dir_, checkpoint, config_.keep_checkpoint_max);
    log_info("saved ", path);
    for (const auto& l : options.listeners) l->after_save(*this, path);
    return path;
  }

  std::string input_position() const {
    if (data_ended_) return {};
    return holding_batch ? position_before_batch : input->save();
  }

  std::map<std::string, std::string> states_of_hooks() const {
    // A hook that is not here now keeps what it had.
    std::map<std::string, std::string> states = session.hook_states();
    if (!hooks_restored) return states;
    for (const auto& hook : hooks)
      if (!hook->name().empty()) states[hook->name()] = hook->state();
    return states;
  }

  // ---- the loop
  bool run_step() {
    if (ended || stopping) return false;
    running_step = session.step() + 1;
    poll_outside();
    if (last && session.step() >= *last) request_stop("");  // nothing to do from the start
    if (stopping) return false;
    if (!begun_hooks && !prepare()) return false;
    StepRequest request{*this, session.step(), replicas.model().update_count(), all_updates()};
    for (const auto& hook : hooks) hook->before_step(request);
    double before_input = monotonic_seconds();
    if (!holding_batch && !next_batch()) return false;
    holding_batch = false;
    double before_step = monotonic_seconds();
    share_out();
    replicas.prepare(request.chosen & all_updates());
    step_under_way = true;
    replicas.run();
    session.finish_step();
    report(request.chosen & all_updates(), before_step - before_input,
           monotonic_seconds() - before_step);
    return true;
  }

  // What one step takes from the input: a batch, or one a tower.
  bool read_batch() {
    bool per_tower = config_.batch == BatchPolicy::per_tower;
    batches.resize(per_tower ? static_cast<std::size_t>(session.strategy().size()) : 1);
    std::size_t read = 0;
    while (read < batches.size() && input->next(batches[read])) ++read;
    batches.resize(read);
    return read > 0;
  }

  void share_out() {
    if (config_.batch == BatchPolicy::per_tower) return replicas.take(batches);
    replicas.split(batches[0]);
  }

  bool next_batch() {
    if (read_batch()) return true;
    data_ended_ = true;
    request_stop("");
    return false;
  }

  // Data that an earlier training has read to their end begin anew if a number of steps is asked
  // for. Otherwise training to the end of the data is done; the call after this one begins anew.
  bool first_batch() {
    position_before_batch = input->save();
    input_was_read = true;
    if (read_batch()) return true;
    if (!resumed_input || !last) {
      if (!resumed_input) log_warning("train: the input has no batch, so no step is run");
      data_ended_ = true;
      request_stop("");
      if (resumed_input && saver) save_checkpoint();
      return false;
    }
    input = open_input();
    position_before_batch = input->save();
    return next_batch();
  }

  // The first batch says what to compile, and so must come before the hooks begin. A checkpoint
  // that they write is one from before that batch.
  bool prepare() {
    if (!first_batch()) return false;
    if (saver && position_before_batch.empty())
      log_warning(
          "train: this input stream cannot save its position, so a resumed training would "
          "begin its data anew");
    holding_batch = true;
    log_info("training on ", describe_towers(), ", ",
             session.strategy().describe_batch(row_count(batches[0])));
    share_out();
    replicas.prepare_models();
    add_hooks_of_spec();
    replicas.prepare(all_updates());
    begin_hooks();
    begun_hooks = true;
    return !stopping;
  }

  void report(std::uint64_t chosen, double waited, double seconds) {
    const TowerExecutable& executable = replicas.executable(0);  // all have the same results
    result.global_step = session.step();
    result.loss = executable.output(0).at(0);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i].second = executable.output(i + 1).at(0);
    std::uint64_t applied = chosen;
    std::size_t output = 1 + values.size();
    for (const Model::Condition& condition : replicas.model().conditions(chosen))
      if (executable.output(output++).at(0) == 0)
        applied &= ~(std::uint64_t{1} << condition.update);
    std::int64_t rows = replicas.rows();
    ++result.steps;
    result.examples += rows;
    result.input_wait_seconds += waited;
    StepTimes times = replicas.times();
    result.times += times;
    measure_speed(rows);
    if (options.control) options.control->report(session.step(), result.loss, rows);
    StepResult step{*this,  session.step(), result.loss, rows, seconds,
                    waited, values,         applied,     times};
    for (const auto& hook : hooks) {
      if (hook == saver)
        step_under_way = false;  // the step was found good: it outlives a full disk
      hook->after_step(step);
    }
    step_under_way = false;
    if (options.control && options.control->take_save_request()) save_checkpoint();
  }

  void poll_outside() {
    std::string reason;
    auto interrupted = [this] { return signals && signals->received(); };
    if (options.control && options.control->wait_and_check_stop(reason, interrupted))
      request_stop(std::move(reason));
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

  ModelOptions model_options() const {
    ModelOptions model{.bucket = config_.bucket};
    for (const auto& hook : hooks) {
      if (hook->micro_batches() == 1) continue;
      require(hook->micro_batches() > 1, "train: a hook asks for ", hook->micro_batches(),
              " micro-batches; at least 1 makes sense");
      require(model.micro_batches == 1, "train: two hooks ask for micro-batches, ",
              model.micro_batches, " and ", hook->micro_batches(), "; keep one");
      model.micro_batches = hook->micro_batches();
    }
    return model;
  }

  // The spec's own come behind the others, the saver last.
  void add_hooks_of_spec() {
    const EstimatorSpec& spec = replicas.model().spec();
    hooks.insert(hooks.end(), spec.hooks.begin(), spec.hooks.end());
    if (saver) hooks.push_back(saver);
    check_hooks(hooks);
    for (const auto& [name, tensor] : spec.values) values.emplace_back(name, 0.0);
  }

  void begin_hooks() {
    const auto& states = session.hook_states();
    for (const auto& hook : hooks) {
      auto state = states.find(hook->name());
      if (hook->name().empty() || state == states.end()) continue;
      with_context("while restoring the state of hook " + hook->name(),
                   [&] { hook->restore(state->second); });
    }
    hooks_restored = true;
    for (const auto& hook : hooks) {
      ++begun;
      hook->begin(*this);
    }
  }

  // Runs every end() that has a begin(), last hook first. The first thing thrown is given back,
  // unless something was thrown before; the others are logged.
  std::exception_ptr end_hooks(Outcome outcome) {
    ended = true;
    std::exception_ptr first;
    while (begun > 0) {
      try {
        hooks[--begun]->end(*this, outcome);
      } catch (const std::exception& error) {
        bool reported = first || outcome == Outcome::failed;
        if (reported) log_line(LogLevel::error, concat("a hook failed at its end: ", error.what()));
        if (!first) first = std::current_exception();
      } catch (...) {
        if (!first) first = std::current_exception();
      }
    }
    if (std::exception_ptr error = leave_session(); error && !first) first = error;
    if (options.control) options.control->finish();
    signals.reset();
    return first;
  }

  // A failure in between two steps costs none of the finished ones. Returns what went wrong here.
  std::exception_ptr leave_session() {
    if (step_under_way) {
      session.mark_broken();
    } else if (input_was_read) {
      try {
        session.leave_off(input_position(), states_of_hooks());
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
  InputFn input_fn;
  InputStreamPtr input;
  bool resumed_input = false;
  std::optional<std::int64_t> last;
  Hooks hooks;
  Replicas replicas;
  std::shared_ptr<Hook> saver;
  std::optional<SignalGuard> signals;
  std::string position_before_batch;
  bool holding_batch = false;
  bool begun_hooks = false;
  std::vector<Features> batches;                       // of the step: one, or one a tower
  std::vector<std::pair<std::string, double>> values;  // EstimatorSpec::values
  TrainResult result;
  std::size_t begun = 0;  // hooks whose begin() was called
  bool stopping = false, data_ended_ = false, ended = false;
  bool hooks_restored = false, input_was_read = false;
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
    impl_->result.seconds = monotonic_seconds() - impl_->start_seconds;
    if (error) std::rethrow_exception(error);
  }
  return impl_->result;
}

const TrainResult& Training::result() const { return impl_->result; }

}  // namespace belfry
