#include "belfry/framework/train/estimator.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <random>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/base/linked_stop.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/train/model_summary.h"
#include "belfry/framework/train/predictions.h"
#include "belfry/framework/train/run/batch_search.h"
#include "belfry/framework/train/run/evaluation_run.h"
#include "belfry/framework/train/run/signals.h"
#include "belfry/framework/train/run/training_plan.h"
#include "belfry/framework/train/state/checkpoint_at.h"
#include "belfry/framework/train/step/session.h"
#include "belfry/framework/train/step/step_input.h"

namespace belfry {
namespace {

// The name of a folder that nobody has, to be made by make_temporary().
std::string temporary_name() {
  std::random_device random;
  std::uint64_t number = std::uint64_t{random()} << 32 | random();
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(number));
  return (std::filesystem::temp_directory_path() / concat("belfry-", digits.data())).string();
}

// For this user alone, who is told of it. It is there already if something was written to it
// before.
void make_temporary(const std::string& name) {
  bool made = ::mkdir(name.c_str(), 0700) == 0;
  int error = errno;
  struct stat found {};
  bool own = made
             || (error == EEXIST && ::lstat(name.c_str(), &found) == 0 && S_ISDIR(found.st_mode)
                 && found.st_uid == ::geteuid());
  require(own, "model_dir: none was given and no temporary folder could be made at ", name, ": ",
          std::strerror(error), "; set EstimatorOptions::model_dir");
  if (!made && (found.st_mode & 0077) == 0) return;
  if (!made) ::chmod(name.c_str(), 0700);
  log_warning("model_dir: none was given, using ", name);
}

void answer_in_evaluation(const char* signal) {
  log_info(signal, ": stopping the evaluation; once more ends the program at once");
}

void check_limit(const std::optional<std::int64_t>& limit, std::string_view what) {
  require(!limit || *limit > 0, what, " must be above 0, got ", limit.value_or(0));
}

void check_options(const InputFn& input_fn, const TrainOptions& options) {
  require(
      !is_evaluator(),
      "train: TF_CONFIG makes this process the evaluator of a cluster, which trains without it; "
      "call evaluate(), or unset TF_CONFIG");
  require(input_fn, "train: there is no input_fn");
  check_limit(options.steps, "train: steps");
  check_limit(options.max_steps, "train: max_steps");
}

// An error that body() throws is told to the other workers, which would wait for this one in vain.
// body() may put another session in the place of `session`.
template <class Body>
auto announcing_failure(const std::shared_ptr<Session>& session, Body body) {
  try {
    return body();
  } catch (...) {
    session->towers().workers().announce_exception(std::current_exception());
    throw;
  }
}

}  // namespace

Estimator::Estimator(EstimatorOptions options)
    : model_fn_(std::move(options.model_fn)),
      config_(std::move(options.run)),
      warm_start_(std::move(options.warm_start)) {
  validate(config_);
  session_ = new_session();
  model_dir_ = options.model_dir.empty() ? model_dir_of_cluster() : std::move(options.model_dir);
  temporary_ = model_dir_.empty();
  if (temporary_) model_dir_ = temporary_name();
}

Estimator::~Estimator() {
  std::error_code has_content;
  if (temporary_) std::filesystem::remove(model_dir_, has_content);
}

EstimatorSpec Estimator::model_fn(Scope scope, const Batch& batch, Mode mode) {
  require(model_fn_,
          "Estimator: there is no model_fn; set EstimatorOptions::model_fn or override model_fn()");
  return model_fn_(std::move(scope), batch, mode);
}

std::shared_ptr<Session> Estimator::new_session(const RunConfig& config) {
  return std::make_shared<Session>(
      [this](Scope scope, const Batch& batch, Mode mode) {
        return model_fn(std::move(scope), batch, mode);
      },
      config, warm_start_);
}

Session& Estimator::session() {
  auto broken = [live = session_] {
    auto turn = live->turns().acquire();
    return live->broken();
  };
  if (broken()) {
    log_warning("the last training failed in a step; going on from the newest checkpoint, if any");
    session_ = new_session();
  }
  auto state = session_->state();
  if (session_->is_training()) return *session_;
  auto is_older = [&](std::int64_t step) { return state->has_state && step <= state->step; };
  auto files = list_checkpoints(model_dir_);
  if (files.empty() || is_older(files.back().step)) return *session_;
  auto checkpoint = load_latest_checkpoint(model_dir_);
  if (!checkpoint || is_older(checkpoint->step)) return *session_;
  if (checkpoint->seed != config_.seed && !state->has_state)
    log_warning("seed: the checkpoint was trained with seed ", checkpoint->seed,
                ", which stays; RunConfig has ", config_.seed);
  std::string path = checkpoint_path(model_dir_, checkpoint->step);
  std::string remedy = concat(
      "use another model_dir, or undo the change to the model; into another model_dir what fits is "
      "taken over with EstimatorOptions::warm_start = WarmStart{.from = \"",
      path, "\", .strict = false}");
  state->restore(std::move(*checkpoint), {.name = path, .remedy = std::move(remedy)});
  return *session_;
}

std::shared_ptr<Session> Estimator::session_at(const std::string& checkpoint) {
  if (checkpoint.empty()) {
    if (!session().state()->is_trained())
      log_warning("nothing was trained and ", model_dir_,
                  " has no checkpoint: the variables have their first values");
    return session_;
  }
  auto other = new_session();
  other->state()->restore(checkpoint_at(checkpoint),
                          {.name = describe_checkpoint_at(checkpoint),
                           .remedy = "name a checkpoint of this model, or undo the change to it"});
  return other;
}

// After a training whose last save failed there are some; in a job of several workers, which that
// ends, none.
void Estimator::save_unsaved_steps() {
  Session& live = session();
  if (!config_.save_checkpoint || !live.state()->has_state || live.towers().workers().count() > 1)
    return;
  auto files = list_checkpoints(model_dir_);
  if (!files.empty() && files.back().step >= live.state()->step) return;
  std::unique_ptr<LockFile> lock = prepare_model_dir();
  Checkpoint snapshot = live.state()->snapshot();
  log_info("saved ", save_checkpoint(model_dir_, snapshot, config_.keep_checkpoints));
}

// To be written by this process alone; null where it cannot write. Hooks may do so even if training
// saves nothing: the best checkpoints, exports, a checkpoint that they ask for. So the folder is
// made for the lock, which would otherwise begin after they have made it.
std::unique_ptr<LockFile> Estimator::prepare_model_dir() {
  if (!session_->towers().workers().is_chief()) return nullptr;
  if (temporary_) make_temporary(model_dir_);
  if (config_.save_checkpoint) {
    probe_writable(model_dir_);
  } else {
    std::error_code cannot;
    std::filesystem::create_directories(model_dir_, cannot);
    if (::access(model_dir_.c_str(), W_OK) != 0) return nullptr;
  }
  std::unique_ptr<LockFile> lock = lock_model_dir(model_dir_);
  remove_stale_temporaries(model_dir_);
  return lock;
}

Training Estimator::start(const InputFn& input_fn, TrainOptions options) {
  check_options(input_fn, options);
  return announcing_failure(session_, [&] {
    session_->require_no_training();
    std::unique_ptr<LockFile> lock = prepare_model_dir();
    return Training(session(), model_dir_, config_, input_fn, std::move(options), std::move(lock));
  });
}

TrainResult Estimator::train(const InputFn& input_fn, TrainOptions options) {
  check_options(input_fn, options);
  auto finished_steps = [&] { return session().state()->step; };
  if (options.max_steps && announcing_failure(session_, finished_steps) >= *options.max_steps) {
    std::int64_t step = finished_steps();
    log_info("train: nothing to do, step ", step, " has reached max_steps ", *options.max_steps);
    save_unsaved_steps();
    TrainResult nothing;
    nothing.global_step = step;
    return nothing;
  }
  Training training = start(input_fn, std::move(options));
  training.run();
  TrainResult result = training.finish();
  if (result.signal != 0 && config_.throw_on_signals)
    throw Interrupted(
        concat("train: ", signal_name(result.signal), " has ended it at step ", result.global_step),
        result.signal);
  return result;
}

EvalResult Estimator::evaluate(const InputFn& input_fn, EvalOptions options) {
  check_limit(options.steps, "evaluate: steps");
  require(session_->towers().workers().count() == 1 || !options.stop.stop_possible(),
          "evaluate: one of several workers cannot stop alone; set `steps` in place of `stop`");
  LinkedStop outside;
  std::stop_token stop = session_->training_stop();
  std::optional<SignalGuard> signals;
  bool alone = session_->towers().workers().count() == 1;
  // Within a training, be it another estimator's, the training hears them, and tells what is to
  // stop.
  if (config_.stop_on_signals && alone && !SignalGuard::any())
    stop = outside.either(std::move(stop), signals.emplace(answer_in_evaluation).stop());
  std::optional<EvaluationRun> run;
  std::exception_ptr error;
  try {
    run.emplace(session_at(options.checkpoint), input_fn, options, stop);
    run->run();
  } catch (...) {
    error = std::current_exception();
  }
  // No worker has waited for another one so far; now all know how it went for each.
  bool stopped = agree_on_evaluation(session_->towers().workers(), error, run && run->stopped());
  if (int signal = signals ? signals->signal() : 0; signal != 0 && config_.throw_on_signals)
    throw Interrupted(concat("evaluate: ", signals->received(), " came before its end"), signal);
  return run->result(stopped);  // what it throws all workers do
}

std::vector<std::string> Estimator::check_evaluation(const InputFn& input_fn,
                                                     const EvalOptions& options,
                                                     const std::stop_token& stop) {
  check_limit(options.steps, "evaluate: steps");
  session();
  LinkedStop both;
  return EvaluationRun(session_, input_fn, options, both.either(stop, session_->training_stop()))
      .try_out();
}

void Estimator::heed(std::stop_token stop) { session_->listen_to(std::move(stop)); }

Predictions Estimator::predict(const InputFn& input_fn, PredictOptions options) {
  auto both = std::make_unique<LinkedStop>();
  options.stop = both->either(options.stop, session_->training_stop());
  InputStreamPtr input = open_input(
      input_fn, "predict",
      {.stop = options.stop, .allocate_host = session_->towers().input_context().allocate_host});
  std::shared_ptr<Session> session = session_at(options.checkpoint);
  return Predictions(std::move(session), std::move(input), std::move(options), std::move(both));
}

LivePredictor Estimator::predictor(PredictOptions options) {
  session();
  return {session_, std::move(options)};
}

std::string Estimator::summary(const InputFn& input_fn, Mode mode) {
  Features batch;
  require(open_input(input_fn, "summary")->next(batch), "summary: the input has no batch");
  return to_string(summarize(session_->planner().model_fn(), mode, signature_of(batch)));
}

std::string Estimator::explain(const InputFn& input_fn, Mode mode) {
  Features batch;
  require(open_input(input_fn, "explain")->next(batch), "explain: the input has no batch");
  std::shared_ptr<Session> live = session_;
  auto turn = live->turns().acquire();
  const Planner& planner = live->planner();
  Model model(planner.model_fn(), mode, signature_of(batch), {}, planner.complete());
  return belfry::explain(*planner.compile(model));
}

BatchThatFits Estimator::batch_that_fits(const InputFn& input_fn, const TrainOptions& options,
                                         std::int64_t most) {
  require(most > 0, "batch_that_fits: most must be above 0, got ", most);
  Features batch;
  require(open_input(input_fn, "batch_that_fits", session_->towers().input_context())->next(batch),
          "batch_that_fits: the input has no batch");
  std::shared_ptr<Session> live = session_;
  auto turn = live->turns().acquire();
  auto find = [&](RunConfig config) {
    return find_batch_that_fits(*new_session(config), config, batch, options, most);
  };
  BatchThatFits fits;
  fits.ways.push_back(find(config_));
  fits.batch = fits.ways[0].batch;
  for (Precision precision : {Precision::f32, Precision::bf16})
    for (bool recompute : {true, false}) {
      RunConfig config = config_;
      config.precision = precision;
      config.recompute.automatic = recompute;
      if (precision == config_.precision && recompute == config_.recompute.automatic) continue;
      fits.ways.push_back(find(std::move(config)));
    }
  return fits;
}

std::string Estimator::plan(const InputFn& input_fn, TrainOptions options) {
  check_options(input_fn, options);
  return announcing_failure(session_, [&] {
    if (config_.save_checkpoint && session_->towers().workers().is_chief())
      probe_writable(temporary_ ? std::filesystem::temp_directory_path().string() : model_dir_);
    session();
    std::shared_ptr<Session> live = session_;
    auto turn = live->turns().acquire();
    return training_plan(*live, config_, input_fn, options);
  });
}

std::unique_ptr<Estimator> Estimator::sibling(RunConfig run, std::string model_dir) {
  int workers = session_->towers().workers().count();
  require(
      workers == 1, "sibling: this process is one of ", workers,
      " workers, which can only train and evaluate together; evaluate with the estimator itself, "
      "or in a process of its own");
  return std::make_unique<Estimator>(
      EstimatorOptions{.model_fn = session_->planner().model_fn(),
                       .model_dir = model_dir.empty() ? model_dir_ : std::move(model_dir),
                       .run = std::move(run),
                       .warm_start = warm_start_});
}

std::optional<std::string> Estimator::latest_checkpoint() const {
  auto files = list_checkpoints(model_dir_);
  if (files.empty()) return std::nullopt;
  return files.back().path;
}

std::vector<std::string> Estimator::variable_names() {
  std::vector<std::string> names = session().state()->names();
  require(!names.empty(), "there are no variables yet: nothing was trained and ", model_dir_,
          " has no checkpoint");
  return names;
}

Array Estimator::variable_value(std::string_view name) {
  if (auto value = session().state()->value(name)) return *std::move(value);
  std::vector<std::string> names = session().state()->names();
  fail("there is no variable `", name, "`; the model has ",
       names.empty() ? "none yet" : join(names, ", "));
}

}  // namespace belfry
