#include "belfry/hooks/evaluate/evaluation_hook.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/base/json.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/base/text.h"
#include "belfry/framework/distribute/workers.h"
#include "belfry/framework/train/checkpoint.h"
#include "belfry/framework/train/state/checkpoint_at.h"
#include "belfry/hooks/evaluate/live_model.h"
#include "belfry/hooks/record/values.h"
#include "belfry/hooks/tensorboard/summaries.h"

namespace belfry::hooks {
namespace {

std::string titled(const std::string& kind, const EvalSpec& spec) {
  return spec.name.empty() ? kind : concat(kind, " `", spec.name, "`");
}

std::string folder_of(const Exporter& exporter, const std::string& model_dir) {
  return concat(model_dir, "/export/", exporter.name());
}

using ExporterCall = std::optional<std::string> (Exporter::*)(const EvaluatedState&);

void call_exporters(ExporterCall call, const std::string& model_dir, Estimator& estimator,
                    const EvalSpec& spec, const Evaluation& evaluation,
                    std::vector<ExportWritten>& exports) {
  for (const auto& exporter : spec.exporters) {
    std::string name = exporter->name();
    auto path = with_context(concat("in exporter `", name, "`"), [&] {
      EvaluatedState state{.estimator = estimator,
                           .checkpoint = evaluation.checkpoint,
                           .result = evaluation.result,
                           .step = evaluation.step,
                           .folder = folder_of(*exporter, model_dir),
                           .averaged = spec.averaged};
      return ((*exporter).*call)(state);
    });
    if (path) exports.push_back({spec.name, name, *path, evaluation.step});
  }
}

// The context of a training that had nothing to do.
class NoTraining final : public HookContext {
 public:
  NoTraining(const Estimator& estimator, std::int64_t step) : estimator_(estimator), step_(step) {}

  std::int64_t step() const override { return step_; }
  bool data_ended() const override { return true; }
  const RunConfig& config() const override { return estimator_.config(); }
  const std::string& model_dir() const override { return estimator_.model_dir(); }
  Variables& variables() override { fail("nothing is trained"); }
  bool is_chief() const override { return workers_->is_chief(); }
  bool chief_decides(bool own) override { return workers_->all_gather(std::int32_t{own})[0] != 0; }
  void request_stop(std::string) override {}
  std::string save_checkpoint() override { return checkpoint_path(model_dir(), step_); }

 private:
  const Estimator& estimator_;
  std::int64_t step_;
  std::shared_ptr<Workers> workers_ = find_workers();
};

}  // namespace

EvaluationHook::EvaluationHook(Estimator& estimator, EvalSpec spec, const std::string& kind)
    : estimator_(estimator),
      spec_(std::move(spec)),
      schedule_(titled(kind, spec_), spec_),
      failure_(titled(kind, spec_)),
      kind_(kind),
      best_(titled(kind, spec_), spec_.metric, spec_.better, spec_.early_stopping) {
  require(spec_.input_fn, best_.owner(), ": there is no input_fn");
  require(spec_.keep_best >= 0, best_.owner(), ": keep_best must be at least 0, got ",
          spec_.keep_best);
  require(!spec_.steps || *spec_.steps > 0, best_.owner(), ": steps must be above 0, got ",
          spec_.steps.value_or(0));
}

// Values of another metric say nothing of this one.
std::string EvaluationHook::name() const {
  return concat(kind_, "/", spec_.metric, spec_.name.empty() ? "" : "/", spec_.name);
}

bool EvaluationHook::begins_unjudged(const HookContext& context) const {
  return schedule_.on_checkpoints() && context.step() > 0 && best_.last_step() < context.step();
}

void EvaluationHook::begin(HookContext& context) {
  failure_.forget();
  require_training(estimator_, context, best_.owner());
  if (context.is_chief()) begin_exporters();
  {
    TrainingPause pause(context);
    with_context(concat("in ", best_.owner(), ", tried out first"),
                 [&] { try_out(context.stop()); });
  }
  begin_evaluations(context);
}

void EvaluationHook::try_out(const std::stop_token& stop) {
  if (spec_.averaged) check_averages(best_.owner(), estimator_);
  std::vector<std::string> scalars = evaluator().check_evaluation(
      spec_.input_fn, {.steps = spec_.steps, .averaged = spec_.averaged}, stop);
  if (scalars.empty()) return;  // stopped
  auto check = [&](const std::string& who, const std::string& metric) {
    std::vector<std::string> nearest = nearest_names(metric, scalars);
    require(std::ranges::find(scalars, metric) != scalars.end(), who, ": there is no result `",
            metric, "` that is a number; there are ", join(scalars, ", "),
            nearest.empty() ? "" : concat("; the nearest is `", nearest[0], "`"));
  };
  check("metric", spec_.metric);
  for (const auto& exporter : spec_.exporters)
    if (!exporter->metric().empty())
      check(concat("exporter `", exporter->name(), "`"), exporter->metric());
}

void EvaluationHook::begin_evaluations(HookContext& context) {
  schedule_.begin(context);
  if (spec_.keep_best > 0 && context.is_chief())
    kept_.emplace(context, spec_.name, best_, spec_.better, spec_.keep_best,
                  spec_.early_stopping.min_change);
  if (auto reason = best_.reason_to_stop(context.step())) context.request_stop(*reason);
}

void EvaluationHook::begin_exporters() {
  with_context(concat("in ", best_.owner()), [&] {
    for (const auto& exporter : spec_.exporters)
      with_context(concat("in exporter `", exporter->name(), "`"), [&] {
        exporter->begin(estimator_, folder_of(*exporter, estimator_.model_dir()));
      });
  });
}

std::string EvaluationHook::state() const {
  if (best_.state().empty() && schedule_.examples() == 0) return {};
  return JsonNode::object({{"best", best_.state()}, {"examples", schedule_.examples()}}).text();
}

void EvaluationHook::restore(const std::string& state) {
  if (state.empty()) return;
  JsonValue json = JsonValue::parse(state, concat(best_.owner(), ": its state in the checkpoint"));
  best_.restore(json.required("best").words());
  std::int64_t examples = 0;
  read_value(json.required("examples"), examples,
             {.low = 0, .high = std::int64_t{1} << 62});  // counting goes on from there
  schedule_.set_examples(examples);
}

std::optional<Evaluation> EvaluationHook::evaluate(
    Estimator& estimator, bool is_chief, std::stop_token stop,
    const std::optional<CheckpointFile>& saved) const {
  return with_context(concat("in ", best_.owner()), [&]() -> std::optional<Evaluation> {
    Evaluation done;
    if (saved) done.checkpoint = saved->path;
    done.result = estimator.evaluate(
        spec_.input_fn,
        {.steps = spec_.steps, .averaged = spec_.averaged, .stop = std::move(stop)});
    if (done.result.stopped()) {
      if (is_chief) log_info(best_.owner(), ": stopped before its end; its values do not count");
      return std::nullopt;
    }
    done.step = static_cast<std::int64_t>(done.result.at("global_step"));
    require(!saved || done.step == saved->step, "step ", done.step, " was evaluated, not that of `",
            done.checkpoint, "`: somebody else has changed its folder");
    try {
      if (is_chief)
        with_context(concat("in ", best_.owner()), [&] {
          call_exporters(&Exporter::after_evaluation, estimator_.model_dir(), estimator, spec_,
                         done, done.exports);
        });
    } catch (...) {
      done.failure = std::current_exception();  // the other workers have none
    }
    return done;
  });
}

// An exception of estimator.evaluate() is thrown on all workers.
void EvaluationHook::evaluate_live(HookContext& context) {
  if (failure_.has_come()) return;
  std::optional<Evaluation> done;
  TrainingPause pause(context);
  try {
    done = evaluate(estimator_, context.is_chief());
  } catch (...) {
    return failure_.record(context, std::current_exception());
  }
  if (done) take_or_fail(context, *std::move(done));
}

bool EvaluationHook::is_wanted(HookContext& context, std::int64_t step) {
  if (failure_.has_come()) return false;
  if (!spec_.wanted) return true;
  bool wanted = false;
  bool asked = failure_.on_chief(context, [&] {
    wanted =
        with_context(concat("in ", best_.owner(), ", wanted"), [&] { return spec_.wanted(step); });
  });
  return asked && context.chief_decides(wanted);
}

void EvaluationHook::take_or_fail(HookContext& context, Evaluation evaluation) {
  try {
    finish(context, std::move(evaluation));
  } catch (...) {
    failure_.record(context, std::current_exception());
  }
}

void EvaluationHook::finish(HookContext& context, Evaluation evaluation) {
  std::exception_ptr of_exporter = std::exchange(evaluation.failure, nullptr);
  auto fail_if_it_has = [&] {
    if (of_exporter) std::rethrow_exception(of_exporter);
  };
  if (!failure_.on_chief(context, fail_if_it_has)) return;
  exports_.insert(exports_.end(), evaluation.exports.begin(), evaluation.exports.end());
  last_ = std::move(evaluation);
  double value = last_->result.at(spec_.metric);
  bool others = best_.is_known(), better = best_.offer(value, last_->step);
  if (!failure_.on_chief(context, [&] { publish(context.model_dir(), better, others); })) return;
  if (spec_.early_stopping.patience > 0 || spec_.keep_best > 0 || schedule_.on_checkpoints())
    ++judged_;
  if (!last_->checkpoint.empty()) {
    keep_if_best(context, value, last_->checkpoint);
  } else if (spec_.keep_best > 0) {
    unkept_ = value;
  }
  if (auto reason = best_.reason_to_stop(last_->step)) context.request_stop(*reason);
}

bool EvaluationHook::keep_best(HookContext& context, const std::string& saved) {
  if (!unkept_) return false;
  double value = *std::exchange(unkept_, {});
  return keep_if_best(context, value, saved);
}

// On the chief.
void EvaluationHook::publish(const std::string& model_dir, bool better, bool others) {
  log_info(evaluation_text(last_->step, spec_.name, last_->result),
           better || !others ? "" : concat("; ", best_.text()));
  if (!events_) events_.emplace(evaluation_dir(model_dir, spec_.name));
  write_evaluation(*events_, last_->result, last_->step);
  events_->flush();
  if (spec_.receive) spec_.receive(last_->step, last_->result);
}

bool EvaluationHook::keep_if_best(HookContext& context, double value, std::string checkpoint) {
  if (spec_.keep_best == 0 || !context.chief_decides(kept_ && kept_->accepts(value, last_->step)))
    return false;
  bool save = checkpoint.empty();
  if (save) checkpoint = context.save_checkpoint();
  if (kept_) kept_->keep(checkpoint, value, last_->step);
  return save;
}

void EvaluationHook::export_at_end(Estimator& estimator) {
  with_context(concat("in ", best_.owner()), [&] {
    call_exporters(&Exporter::at_end, estimator_.model_dir(), estimator, spec_, last_.value(),
                   exports_);
  });
}

// The other workers would wait for one that throws in vain.
bool EvaluationHook::evaluate_without_training(const std::stop_token& stop) {
  std::shared_ptr<Workers> workers = find_workers();
  try {
    return evaluate_newest(stop);
  } catch (...) {
    workers->announce_exception(std::current_exception());
    throw;
  }
}

std::optional<Evaluation> EvaluationHook::evaluate_heeding(Estimator& estimator, bool is_chief,
                                                           const std::stop_token& stop) const {
  struct Heeding {
    ~Heeding() { estimator.heed({}); }
    Estimator& estimator;
  } heeding{estimator};
  estimator.heed(stop);
  return evaluate(estimator, is_chief);
}

bool EvaluationHook::evaluate_newest(const std::stop_token& stop) {
  bool is_chief = find_workers()->is_chief();
  bool writes = spec_.keep_best > 0 || !spec_.exporters.empty();
  std::unique_ptr<LockFile> lock;
  if (is_chief && writes) {
    create_folders(estimator_.model_dir());
    lock = lock_model_dir(estimator_.model_dir());
  }
  if (is_chief) begin_exporters();
  auto checkpoint = load_latest_checkpoint(estimator_.model_dir());
  if (checkpoint) {
    auto own = checkpoint->hooks.find(name());
    if (own != checkpoint->hooks.end()) restore(own->second);
  }
  std::int64_t step = checkpoint ? checkpoint->step : 0;
  if (NoTraining asking(estimator_, step); !is_wanted(asking, step)) {
    failure_.rethrow();
    return true;
  }
  Estimator& where = checkpoint
                         ? evaluator_of(checkpoint_path(estimator_.model_dir(), checkpoint->step))
                         : estimator_;
  auto done = evaluate_heeding(where, is_chief, stop);
  if (!done) return false;
  NoTraining context(estimator_, done->step);
  begin_evaluations(context);
  finish(context, *std::move(done));
  failure_.rethrow();
  if (context.chief_decides(checkpoint && checkpoint->step == context.step()))
    keep_best(context, checkpoint_path(context.model_dir(), context.step()));
  if (is_chief) export_at_end(where);
  return true;
}

void EvaluationHook::report(TrainAndEvaluateResult& result) const {
  if (last_) result.evaluations[spec_.name] = last_->result;
  if (best_.is_known()) result.best[spec_.name] = {best_.step(), best_.value()};
  // Later ones may have taken the place of earlier ones.
  std::ranges::copy_if(exports_, std::back_inserter(result.exports), [](const ExportWritten& e) {
    std::error_code error;
    return std::filesystem::exists(e.path, error);
  });
}

}  // namespace belfry::hooks
