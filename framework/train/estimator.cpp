#include "belfry/framework/train/estimator.h"

#include <filesystem>

#include "belfry/framework/base/file.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/train/checkpoint_at.h"
#include "belfry/framework/train/live_predictor.h"
#include "belfry/framework/train/model_summary.h"
#include "belfry/framework/train/session.h"
#include "belfry/framework/train/training_plan.h"

namespace belfry {
namespace {

std::string folder_or_temporary(const std::string& model_dir) {
  if (!model_dir.empty()) return model_dir;
  std::string name = (std::filesystem::temp_directory_path() / "belfry-XXXXXX").string();
  require(mkdtemp(name.data()),
          "model_dir: none was given and no temporary folder could be made at ", name);
  log_warning("model_dir: none was given, using ", name);
  return name;
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

InputStreamPtr open_input(const InputFn& input_fn, std::string_view caller,
                          const InputContext& context = {}) {
  require(input_fn, caller, ": there is no input_fn");
  InputStreamPtr input = input_fn(context);
  require(input, caller, ": input_fn returned no stream");
  return input;
}

// What body() throws is told to the other workers, which would wait for this one in vain. It may
// put another session in the place of `session`.
template <class Body>
auto announcing_failure(const std::shared_ptr<Session>& session, Body body) {
  try {
    return body();
  } catch (const std::exception& error) {
    session->workers().announce_failure(error.what());
    throw;
  }
}

EvalResult of_step(std::int64_t step) {
  EvalResult out;
  out.set("global_step", Array::scalar(static_cast<double>(step)));
  return out;
}

// Sums over batches: the states of metrics, and the loss weighted by rows.
class Accumulator {
 public:
  explicit Accumulator(const NamedMetrics& metrics) {
    for (const auto& [name, metric] : metrics)
      states_.emplace_back(static_cast<std::size_t>(metric.state.shape().elements()));
  }

  void add(const Replicas& replicas) {
    bool sum = replicas.model().spec().loss_over_towers == TowerReduction::sum;
    for (int i = 0; i < replicas.size(); ++i) {
      std::int64_t rows = replicas.share(i).rows.count;
      bool stand_in = rows == 0 && replicas.rows().all > 0;  // a row that belongs to another worker
      if (!stand_in) add(replicas.executable(i), rows, sum ? replicas.rows().all : rows);
    }
  }

  // Adds what the other workers have.
  void merge(Workers& workers) {
    if (workers.count() == 1) return;
    std::vector<double> own{loss_, static_cast<double>(rows_)};
    for (const auto& state : states_) own.insert(own.end(), state.begin(), state.end());
    std::vector<double> all(own.size() * static_cast<std::size_t>(workers.count()));
    workers.all_gather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
    std::fill(own.begin(), own.end(), 0.0);
    for (std::size_t i = 0; i < all.size(); ++i) own[i % own.size()] += all[i];
    loss_ = own[0], rows_ = static_cast<std::int64_t>(own[1]);
    auto from = own.begin() + 2;
    for (auto& state : states_)
      for (double& value : state) value = *from++;
  }

  std::int64_t rows() const { return rows_; }

  EvalResult result(const NamedMetrics& metrics, std::int64_t step) const {
    require(rows_ > 0, "evaluate: the input has no rows");
    EvalResult out = of_step(step);
    for (std::size_t m = 0; m < metrics.size(); ++m)
      out.set(metrics[m].first, metrics[m].second.value(states_[m]));
    out.set("loss", Array::scalar(loss_ / static_cast<double>(rows_)));
    return out;
  }

 private:
  // A batch weighs as much as it has rows, and so does each tower's part of a mean.
  void add(const TowerExecutable& executable, std::int64_t rows, std::int64_t weight) {
    // The loss of an empty batch may be NaN; it weighs nothing.
    if (rows > 0) loss_ += executable.output(0).at(0) * static_cast<double>(weight);
    rows_ += rows;
    for (std::size_t m = 0; m < states_.size(); ++m) {
      auto state = executable.output(m + 1).span<double>();
      for (std::size_t i = 0; i < state.size(); ++i) states_[m][i] += state[i];
    }
  }

  double loss_ = 0;
  std::int64_t rows_ = 0;
  std::vector<std::vector<double>> states_;
};

}  // namespace

double EvalResult::at(std::string_view name) const { return array(name).item(); }

const Array& EvalResult::array(std::string_view name) const {
  auto found = values_.find(name);
  if (found != values_.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [n, v] : values_) known.push_back(n);
  fail("evaluate: there is no result `", name, "`; there are ", join(known, ", "));
}

Estimator::Estimator(EstimatorOptions options)
    : model_fn_(std::move(options.model_fn)),
      config_(std::move(options.run)),
      warm_start_(std::move(options.warm_start)) {
  validate(config_);
  session_ = new_session();
  model_dir_ = folder_or_temporary(options.model_dir);
}

Estimator::~Estimator() = default;

EstimatorSpec Estimator::model_fn(Scope scope, const Batch& batch, Mode mode) {
  require(model_fn_,
          "Estimator: there is no model_fn; set EstimatorOptions::model_fn or override model_fn()");
  return model_fn_(std::move(scope), batch, mode);
}

std::shared_ptr<Session> Estimator::new_session() {
  return std::make_shared<Session>(
      [this](Scope scope, const Batch& batch, Mode mode) {
        return model_fn(std::move(scope), batch, mode);
      },
      config_, warm_start_);
}

Session& Estimator::session() {
  auto broken = [live = session_] {
    auto turn = live->turns().take();
    return live->broken();
  };
  if (broken()) {
    log_warning("the last training failed in a step; going on from the newest checkpoint, if any");
    session_ = new_session();
  }
  auto turn = session_->turns().take();
  if (session_->is_training()) return *session_;
  auto files = list_checkpoints(model_dir_);
  if (files.empty() || (session_->has_state() && files.back().step <= session_->step()))
    return *session_;
  auto checkpoint = load_latest_checkpoint(model_dir_);
  if (!checkpoint || (session_->has_state() && checkpoint->step <= session_->step()))
    return *session_;
  if (checkpoint->seed != config_.seed && !session_->has_state())
    log_warning("seed: the checkpoint was trained with seed ", checkpoint->seed,
                ", which stays; RunConfig has ", config_.seed);
  session_->restore(std::move(*checkpoint));
  return *session_;
}

std::shared_ptr<Session> Estimator::session_at(const std::string& checkpoint) {
  if (checkpoint.empty()) {
    if (!session().is_trained())
      log_warning("nothing was trained and ", model_dir_,
                  " has no checkpoint: the variables have their first values");
    return session_;
  }
  auto other = new_session();
  other->restore(checkpoint_at(checkpoint),
                 {.name = describe_checkpoint_at(checkpoint),
                  .remedy = "name a checkpoint of this model, or undo the change to it"});
  return other;
}

// After a training whose last save failed there are some; in a job of several workers, which that
// ends, none.
void Estimator::save_unsaved_steps() {
  Session& live = session();
  if (!config_.save_checkpoint || !live.has_state() || live.workers().count() > 1) return;
  auto files = list_checkpoints(model_dir_);
  if (!files.empty() && files.back().step >= live.step()) return;
  log_info("saved ", save_checkpoint(model_dir_, live.snapshot(), config_.keep_checkpoint_max,
                                     config_.keep_checkpoint_every));
}

Training Estimator::start(const InputFn& input_fn, TrainOptions options) {
  check_options(input_fn, options);
  return announcing_failure(session_, [&] {
    if (config_.save_checkpoint && session_->workers().is_chief()) {
      probe_writable(model_dir_);
      remove_stale_temporaries(model_dir_);
    }
    return Training(session(), model_dir_, config_, input_fn, std::move(options));
  });
}

TrainResult Estimator::train(const InputFn& input_fn, TrainOptions options) {
  check_options(input_fn, options);
  auto finished_steps = [&] { return session().step(); };
  if (options.max_steps && announcing_failure(session_, finished_steps) >= *options.max_steps) {
    log_info("train: nothing to do, step ", session().step(), " has reached max_steps ",
             *options.max_steps);
    save_unsaved_steps();
    TrainResult nothing;
    nothing.global_step = session().step();
    return nothing;
  }
  Training training = start(input_fn, std::move(options));
  training.run();
  return training.finish();
}

EvalResult Estimator::evaluate(const InputFn& input_fn, EvaluateArgs args) {
  check_limit(args.steps, "evaluate: steps");
  require(session_->workers().count() == 1 || !args.stop.stop_possible(),
          "evaluate: one of several workers cannot stop alone; set `steps` in place of `stop`");
  return announcing_failure(session_, [&] { return evaluate_here(input_fn, args); });
}

EvalResult Estimator::evaluate_here(const InputFn& input_fn, const EvaluateArgs& args) {
  std::shared_ptr<Session> session = session_at(args.checkpoint);
  InputContext context = session->input_context();
  context.stop = args.stop;
  InputStreamPtr input = open_input(input_fn, "evaluate", context);
  Features batch;
  std::optional<Accumulator> sums;
  Replicas& replicas = session->replicas(Mode::evaluate, args.averaged);
  std::int64_t first_row = 0;
  auto goes_on = [&](std::int64_t done) {
    return !args.stop.stop_requested() && (!args.steps || done < *args.steps);
  };
  for (std::int64_t i = 0; goes_on(i) && input->next(batch); ++i) {
    auto turn = session->turns().take();
    replicas.split(batch);
    replicas.prepare();
    replicas.begin_at(first_row);
    replicas.run();
    first_row += replicas.rows().all;
    if (!sums) sums.emplace(replicas.model().spec().metrics);
    sums->add(replicas);
  }
  if (!sums && session->workers().count() > 1) {
    // Other workers may have some; what their sums are of is the same for any batch.
    require(open_input(input_fn, "evaluate")->next(batch), "evaluate: the input has no batch");
    auto turn = session->turns().take();
    replicas.take_nothing(batch);
    replicas.prepare_models();
    sums.emplace(replicas.model().spec().metrics);
  }
  if (sums) sums->merge(session->workers());
  if (args.stop.stop_requested() && (!sums || sums->rows() == 0)) return of_step(session->step());
  require(sums, "evaluate: the input has no batch");
  return sums->result(replicas.model().spec().metrics, session->step());
}

Predictions Estimator::predict(const InputFn& input_fn, PredictOptions options) {
  InputStreamPtr input =
      open_input(input_fn, "predict", {.allocate_host = session_->input_context().allocate_host});
  std::shared_ptr<Session> session = session_at(options.checkpoint);
  return Predictions(std::move(session), std::move(input), std::move(options));
}

LivePredictor Estimator::predictor(PredictOptions options) {
  session();
  return {session_, std::move(options)};
}

std::string Estimator::summary(const InputFn& input_fn, Mode mode) {
  Features batch;
  require(open_input(input_fn, "summary")->next(batch), "summary: the input has no batch");
  return to_string(
      summarize([this](Scope s, const Batch& b, Mode m) { return model_fn(std::move(s), b, m); },
                mode, signature_of(batch)));
}

std::string Estimator::explain(const InputFn& input_fn, Mode mode) {
  Features batch;
  require(open_input(input_fn, "explain")->next(batch), "explain: the input has no batch");
  std::shared_ptr<Session> live = session_;
  auto turn = live->turns().take();
  Model model([this](Scope s, const Batch& b, Mode m) { return model_fn(std::move(s), b, m); },
              mode, signature_of(batch), {}, live->complete());
  return belfry::explain(*live->compile(model));
}

std::string Estimator::plan(const InputFn& input_fn, TrainOptions options) {
  check_options(input_fn, options);
  return announcing_failure(session_, [&] {
    if (config_.save_checkpoint && session_->workers().is_chief()) probe_writable(model_dir_);
    session();
    std::shared_ptr<Session> live = session_;
    auto turn = live->turns().take();
    return training_plan(*live, config_, input_fn, options);
  });
}

std::unique_ptr<Estimator> Estimator::sibling(RunConfig run, std::string model_dir) {
  int workers = session_->workers().count();
  require(
      workers == 1, "sibling: this process is one of ", workers,
      " workers, which can only train and evaluate together; evaluate with the estimator itself, "
      "or in a process of its own");
  return std::make_unique<Estimator>(EstimatorOptions{
      .model_fn = [this](Scope s, const Batch& b, Mode m) { return model_fn(std::move(s), b, m); },
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
  std::vector<std::string> names;
  for (const auto& [name, value] : session().snapshot().variables) names.push_back(name);
  require(!names.empty(), "there are no variables yet: nothing was trained and ", model_dir_,
          " has no checkpoint");
  return names;
}

Array Estimator::variable_value(std::string_view name) {
  auto variables = session().snapshot().variables;
  auto found = variables.find(name);
  require(found != variables.end(), "there is no variable `", name, "`; the model has ",
          variables.empty() ? "none yet" : join(variable_names(), ", "));
  return found->second;
}

}  // namespace belfry
