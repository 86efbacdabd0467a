#include <chrono>
#include <filesystem>
#include <future>
#include <new>
#include <utility>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/folder_names.h"
#include "belfry/framework/base/linked_stop.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/base/text.h"
#include "belfry/framework/distribute/variables.h"
#include "belfry/framework/distribute/workers.h"
#include "belfry/framework/train/checkpoint.h"
#include "belfry/hooks/evaluate/evaluation_hook.h"
#include "belfry/hooks/record/values.h"

namespace belfry::hooks {
namespace {

namespace fs = std::filesystem;

// Whether the first of two checkpoints of a folder is no older than the second. A later one is
// written where one in the background has failed.
bool is_no_older(const std::string& path, const std::string& other) {
  return path.size() != other.size() ? path.size() > other.size() : path >= other;
}

// A checkpoint is evaluated and exported from a folder of its own, where it stays until the next
// one: in model_dir newer ones may take its place meanwhile. The estimator of that folder takes its
// values and keeps its plan.
class BesideTraining final : public EvaluationHook {
 public:
  BesideTraining(Estimator& estimator, EvalSpec spec)
      : EvaluationHook(estimator, std::move(spec)),
        folder_(concat(estimator.model_dir(), "/evaluating", spec_.name.empty() ? "" : "_",
                       spec_.name)) {
    require(find_workers()->count() == 1, "evaluation `", spec_.name,
            "`: one of several workers cannot evaluate on devices of its own; leave "
            "EvalSpec::devices empty");
    RunConfig config = estimator.config();
    config.devices = spec_.devices;
    config.stop_on_signals = false;  // the training listens, and stops it
    sibling_ = estimator.sibling(std::move(config), folder_);
  }

  ~BesideTraining() override {
    try {
      drop_result();
      remove_folder();
    } catch (const std::bad_alloc&) {  // the next training removes it
    }
  }

  void begin(HookContext& context) override {
    remove_folder();  // what a kill has left there is no checkpoint to evaluate
    stop_.emplace(context.stop());
    EvaluationHook::begin(context);
    bool tried_out = !spec_.averaged && !context.stop().stop_requested();
    if (tried_out) check_variables(context.variables());
    first_step_ = context.step();
    std::error_code error;
    std::string path = checkpoint_path(context.model_dir(), first_step_);
    if (begins_unjudged(context) && schedule_.allows(context) && fs::exists(path, error))
      start(context, path);
  }

  bool needs_result_now(HookContext& context, std::int64_t step) override {
    return settled_ = schedule_.may_be_due(context, step);
  }

  void after_step(const StepResult& result) override {
    take_result(result.context, false);
    bool due = schedule_.due(result.context, result, settled_) && !schedule_.on_checkpoints();
    if (!due || running_.valid() || !wanted_.empty() || !is_finite(result)) return;
    wanted_ = checkpoint_path(result.context.model_dir(), result.step);
    result.context.begin_checkpoint();
  }

  void checkpoint_written(HookContext& context, const std::string& path, bool is_news) override {
    saved_ = path;
    bool wanted = schedule_.on_checkpoints()
                      ? is_news && (context.step() != first_step_ || begins_unjudged(context))
                            && schedule_.allows(context)
                      : !wanted_.empty() && is_no_older(path, wanted_);
    if (wanted && !running_.valid()) start(context, path);
  }

  void end(HookContext& context, Outcome outcome) override {
    if (outcome == Outcome::failed)
      drop_result();
    else
      take_result(context, true);
    failure_.rethrow();
    if (outcome == Outcome::failed) return;
    if (is_stopped(context)) return;
    if (evaluated_step() != context.step()) {
      std::string last = checkpoint_path(context.model_dir(), context.step());
      if (saved_ != last) context.save_checkpoint();
      if (!running_.valid()) start(context, last);
      take_result(context, true);
      failure_.rethrow();
    }
    if (evaluated_step() == context.step()) export_at_end(*sibling_);
  }

 private:
  // Where there are no averages yet the sibling makes no variables; the training has its own.
  Estimator& evaluator() override { return spec_.averaged ? estimator_ : *sibling_; }
  Estimator& evaluator_of(const std::string& checkpoint) override {
    keep_alone(checkpoint);
    return *sibling_;
  }

  // The sibling has made those of its model, with first values.
  void check_variables(const Variables& training) const {
    const std::vector<std::string> there = training.names();
    for (const std::string& name : sibling_->variable_names()) {
      std::vector<std::string> nearest = nearest_names(name, there, 1);
      require(training.contains(name), "the model to evaluate has a variable `", name,
              "`, which training has not", nearest.empty() ? "" : "; the nearest is ",
              nearest.empty() ? "" : nearest[0]);
    }
  }

  CheckpointFile keep_alone(const std::string& checkpoint) const {
    remove_folder();
    keep_checkpoint(checkpoint, folder_);
    return list_checkpoints(folder_).at(0);
  }

  void start(HookContext& context, const std::string& path) {
    wanted_.clear();
    if (failure_.has_come()) return;
    if (stop_->requested()) return;  // it would only hear of it, maybe before training does
    CheckpointFile saved = keep_alone(path);
    if (!is_wanted(context, saved.step)) return schedule_.refused(context);
    schedule_.evaluated(context);
    running_ =
        std::async(std::launch::async, [this, saved = std::move(saved), stop = stop_->token()] {
          return evaluate(*sibling_, true, stop, saved);
        });
  }

  void take_result(HookContext& context, bool wait) {
    auto is_ready = [&] {
      return wait || running_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    };
    if (!running_.valid() || !is_ready()) return;
    try {
      if (auto done = with_context("beside training", [&] { return running_.get(); }))
        take_or_fail(context, *std::move(done));
    } catch (...) {
      failure_.record(context, std::current_exception());
    }
  }

  // The failure of training is the one to tell of.
  void drop_result() {
    if (stop_) stop_->request();
    try {
      if (running_.valid()) running_.get();
    } catch (...) {
      log_failure("train_and_evaluate", std::current_exception());
    }
  }

  void remove_folder() const {
    std::error_code error;
    remove_tree(folder_, error);
    if (error) log_warning("could not remove ", folder_, ": ", error.message());
  }

  std::unique_ptr<Estimator> sibling_;
  std::string folder_;
  std::optional<LinkedStop> stop_;  // of what runs beside this training
  std::int64_t first_step_ = -1;
  bool settled_ = false;
  std::string wanted_;                              // path of the checkpoint that was asked for
  std::string saved_;                               // path of the last one
  std::future<std::optional<Evaluation>> running_;  // last: its thread uses the others
};

}  // namespace

std::shared_ptr<EvaluationHook> evaluation_beside_training(Estimator& estimator, EvalSpec spec) {
  return std::make_shared<BesideTraining>(estimator, std::move(spec));
}

}  // namespace belfry::hooks
