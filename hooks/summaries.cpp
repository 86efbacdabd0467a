#include "belfry/hooks/summaries.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>

#include "belfry/framework/base/error.h"
#include "belfry/framework/distribute/variables.h"
#include "belfry/framework/train/checkpoint.h"
#include "belfry/hooks/event_file.h"
#include "belfry/hooks/graph_def.h"
#include "belfry/hooks/model_summaries.h"
#include "belfry/hooks/printed.h"
#include "belfry/hooks/scheduled_rates.h"

namespace belfry::hooks {
namespace {

class WriteSummaries final : public Summaries {
 public:
  explicit WriteSummaries(SummariesOptions options) : options_(std::move(options)) {}

  // Models are built before training begins, and again for batches of another shape: the same
  // model, with the same updates.
  void after_apply(GradientStage& stage) override {
    if (begun_) return;
    rates_.take(stage);
    if (options_.graph) graph_ = graph_def(stage.update.loss.graph());
  }

  void begin(HookContext& context) override {
    scalars_ = Cadence(options_.every);
    histograms_ = Cadence(options_.histograms.value_or(options_.every));
    of_model_ = Cadence(options_.of_model.value_or(options_.every));
    scalars_due_ = histograms_due_ = false;
    asked_for_model_.clear();
    since_ = {};
    begun_ = true;
    std::vector<std::byte> graph = std::exchange(graph_, {});
    if (!context.is_chief()) return rates_.clear();
    file_ =
        std::make_unique<EventFile>(context.model_dir(), EventFileOptions{.flush = options_.flush});
    file_->add_session(context.step() + 1, SessionStatus::start);
    if (!graph.empty() && graphs_in_.insert(context.model_dir()).second)
      file_->add_graph(context.step(), std::move(graph));
    if (!options_.hyper_parameters.empty())
      file_->add(context.step(),
                 {hyper_parameters_summary(options_.hyper_parameters, system_seconds())});
  }

  // The other workers ask with the chief, though they do not write.
  void before_step(StepRequest& request) override {
    std::int64_t step = request.step + 1;
    double now = request.context.clock();
    if (!of_model_.due(step, now)) return;
    of_model_.triggered(step, now);
    request.summaries = true;
    if (file_) asked_for_model_.insert(step);
  }

  bool needs_result_now(HookContext&, std::int64_t step) override {
    if (!file_) return false;
    asked_ = options_.clock();
    scalars_due_ = scalars_.due(step, asked_);
    histograms_due_ = options_.histograms && histograms_.due(step, asked_);
    return histograms_due_ || (scalars_due_ && rates_.reads_variables());
  }

  void after_step(const StepResult& result) override {
    if (!file_) return;
    since_.rows += static_cast<double>(result.rows);
    since_.waited += result.input_wait_seconds;
    if (std::exchange(scalars_due_, false)) write_scalars(result);
    if (std::exchange(histograms_due_, false)) write_histograms(result);
    if (asked_for_model_.erase(result.step) > 0) write_of_model(result);
  }

  void end(HookContext& context, Outcome outcome) override {
    if (file_ && outcome == Outcome::finished && !options_.hyper_parameters.empty())
      file_->add(context.step(), {run_finished_summary(system_seconds())});
    file_.reset();
    rates_.clear();
    begun_ = false;
  }

  void after_save(HookContext& context, const std::string& path) override {
    if (file_) file_->add_session(step_of(context, path), SessionStatus::checkpoint, path);
  }

 private:
  // Sums since the last scalars; step -1: there were none yet.
  struct Since {
    std::int64_t step = -1;
    double time = 0, rows = 0, waited = 0;
  };

  // The step of a checkpoint, which may be of an earlier step than the present one.
  static std::int64_t step_of(HookContext& context, const std::string& path) {
    for (const CheckpointFile& file : list_checkpoints(context.model_dir()))
      if (file.path == path) return file.step;
    return context.step();
  }

  void write_scalars(const StepResult& result) {
    scalars_.triggered(result.step, asked_);
    double now = options_.clock();
    std::vector<EventValue> values{scalar_summary("loss", result.loss)};
    auto add = [&](const std::string& tag, double value) {
      values.push_back(scalar_summary(tag, value));
    };
    for (const auto& [name, value] : result.values) add(name, value);
    for (const auto& [name, rate] : rates_.read(result.step, result.context)) add(name, rate);
    if (double seconds = now - since_.time; since_.step >= 0 && seconds > 0) {
      add("global_step/sec", static_cast<double>(result.step - since_.step) / seconds);
      add("examples/sec", since_.rows / seconds);
      add("input/waiting", since_.waited / seconds);
    }
    since_ = {.step = result.step, .time = now};
    file_->add(result.step, std::move(values));
  }

  void write_histograms(const StepResult& result) {
    histograms_.triggered(result.step, asked_);
    std::vector<EventValue> values;
    const Variables& variables = result.context.variables();
    for (const std::string& name : variables.names())
      if (variables.options(name).kind == VariableKind::parameter)
        values.push_back(histogram_summary(name, variables.read(name)));
    file_->add(result.step, std::move(values));
  }

  void write_of_model(const StepResult& result) {
    std::vector<EventValue> values;
    for (const SummaryValue& summary : result.summaries)
      std::ranges::move(shown_values(summary), std::back_inserter(values));
    if (!values.empty()) file_->add(result.step, std::move(values));
  }

  SummariesOptions options_;
  ScheduledRates rates_;
  std::vector<std::byte> graph_;     // until begin
  std::set<std::string> graphs_in_;  // folders to which it was written
  bool begun_ = false;
  Cadence scalars_{Steps(1)}, histograms_{Steps(1)}, of_model_{Steps(1)};
  std::set<std::int64_t> asked_for_model_;  // steps of which after_step() has not been told
  bool scalars_due_ = false, histograms_due_ = false;  // after the step that was asked about ...
  double asked_ = 0;                                   // ... at this time
  Since since_;
  std::unique_ptr<EventFile> file_;  // on the chief, between begin and end
};

void check(const Every& every, const char* name) {
  require(is_positive(every), "summaries: ", name, " must be above 0, got ", every);
}

}  // namespace

std::shared_ptr<Summaries> summaries(SummariesOptions options) {
  check(options.every, "every");
  if (options.of_model) check(*options.of_model, "of_model");
  if (options.histograms) check(*options.histograms, "histograms");
  check_flush(options.flush);
  if (!options.clock) options.clock = monotonic_seconds;
  return std::make_shared<WriteSummaries>(std::move(options));
}

}  // namespace belfry::hooks
