#include "belfry/hooks/tensorboard/summaries.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>

#include "belfry/data/formats/tfrecord.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/fields.h"
#include "belfry/framework/base/folder_names.h"
#include "belfry/framework/base/out_of_memory.h"
#include "belfry/framework/base/protobuf_wire.h"
#include "belfry/framework/distribute/variables.h"
#include "belfry/framework/train/checkpoint.h"
#include "belfry/hooks/record/recorder.h"
#include "belfry/hooks/record/values.h"
#include "belfry/hooks/tensorboard/event_file.h"

namespace belfry::hooks {
namespace {

// Under the summary's name; images are under `name/image/0`, `name/image/1` and so on, as
// TensorFlow names them. Several texts are the rows of a table.
std::vector<EventValue> shown_values(const SummaryValue& summary) {
  const std::string& name = summary.name;
  std::vector<EventValue> values;
  switch (summary.kind) {
    case SummaryKind::scalar:
      return {scalar_summary(name, summary.value.item())};
    case SummaryKind::histogram:
      return {histogram_summary(name, summary.value)};
    case SummaryKind::text:
      return {text_summary(name, texts_of(summary))};
    case SummaryKind::image:
      for (Array& image : images_of(summary))
        values.push_back(image_summary(concat(name, "/image/", values.size()), std::move(image)));
      return values;
  }
  no_such_value(summary.kind);
}

// The graph is among the first records of a file. One that is damaged has none.
bool has_graph(const std::string& path) {
  constexpr int first_records = 4;
  try {
    data::TfRecordReader reader(path);
    std::vector<std::byte> record;
    for (int i = 0; i < first_records && reader.next(record); ++i)
      for (protobuf::WireReader event(record); event.next();)
        if (event.is(4, protobuf::WireType::length_delimited))
          return true;  // graph_def of event.proto
  } catch (const Error&) {
    if (is_shortage()) throw;
  }
  return false;
}

// TensorBoard shows one graph a folder and warns of more: an earlier training may have written it.
bool folder_has_graph(const std::string& folder) {
  std::error_code error;
  for (const std::string& name : names_in_folder(folder, error))
    if (name.starts_with("events.out.tfevents.") && has_graph(folder + "/" + name)) return true;
  return false;
}

class WriteSummaries final : public Summaries {
 public:
  explicit WriteSummaries(SummariesOptions options)
      : options_(std::move(options)),
        recorder_({.every = options_.every, .clock = options_.clock}) {}

  void after_apply(GradientStage& stage) override {
    recorder_.after_apply(stage);
    if (!begun_ && options_.graph) graph_ = graph_def(stage.update.loss.graph());
  }

  void begin(HookContext& context) override {
    recorder_.begin(context);
    histograms_ = Cadence(options_.histograms.value_or(options_.every));
    of_model_ = Cadence(options_.of_model.value_or(options_.every));
    histograms_due_ = false;
    asked_for_model_.clear();
    begun_ = true;
    std::vector<std::byte> graph = std::exchange(graph_, {});
    if (!context.is_chief()) return;
    if (!graph.empty() && folder_has_graph(context.model_dir())) graph.clear();
    file_ =
        std::make_unique<EventFile>(context.model_dir(), EventFileOptions{.flush = options_.flush});
    file_->add_session(context.step() + 1, SessionStatus::start);
    if (!graph.empty()) file_->add_graph(context.step(), std::move(graph));
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

  bool needs_result_now(HookContext& context, std::int64_t step) override {
    if (!file_) return false;
    asked_ = options_.clock();
    histograms_due_ = options_.histograms && histograms_.due(step, asked_);
    return recorder_.needs_result_now(context, step) || histograms_due_;
  }

  void after_step(const StepResult& result) override {
    if (!file_) return;
    if (auto record = recorder_.after_step(result)) write(*record);
    if (std::exchange(histograms_due_, false)) write_histograms(result);
    if (asked_for_model_.erase(result.step) > 0) write_of_model(result);
  }

  void end(HookContext& context, Outcome outcome) override {
    if (file_ && outcome == Outcome::finished && !options_.hyper_parameters.empty())
      file_->add(context.step(), {run_finished_summary(system_seconds())});
    file_.reset();
    recorder_.end();
    begun_ = false;
  }

  void after_save(HookContext& context, const std::string& path) override {
    if (file_) file_->add_session(step_of(context, path), SessionStatus::checkpoint, path);
  }

 private:
  // The step of a checkpoint, which may be of an earlier step than the present one.
  static std::int64_t step_of(HookContext& context, const std::string& path) {
    std::int64_t step = 0;
    std::from_chars(path.data() + path.rfind('-') + 1, path.data() + path.size(), step);
    return checkpoint_path(context.model_dir(), step) == path ? step : context.step();
  }

  void write(const Record& record) {
    std::vector<EventValue> values;
    for (const auto* named : {&record.values, &record.learning_rates})
      for (const auto& [name, value] : *named) values.push_back(scalar_summary(name, value));
    if (record.speed) {
      values.push_back(scalar_summary("global_step/sec", record.speed->steps_per_second()));
      values.push_back(scalar_summary("examples/sec", record.speed->examples_per_second()));
      values.push_back(scalar_summary("input/waiting", record.speed->waiting_fraction()));
    }
    file_->add(record.step, std::move(values));
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
  Recorder recorder_;
  std::vector<std::byte> graph_;  // until begin
  bool begun_ = false;
  Cadence histograms_{Steps(1)}, of_model_{Steps(1)};
  std::set<std::int64_t> asked_for_model_;  // steps of which after_step() has not been told
  bool histograms_due_ = false;             // after the step that was asked about ...
  double asked_ = 0;                        // ... at this time
  std::unique_ptr<EventFile> file_;         // on the chief, between begin and end
};

void check(const Every& every, const char* name) {
  require(is_positive(every), "summaries: ", name, " must be above 0, got ", every);
}

// The curve in a value of the metric pr_curve(). Such a value is known by its arithmetic: the last
// two rows are quotients of the others, at every threshold the same number of labels is true and
// the same number false, and at the first threshold there are neither true nor false negatives.
std::optional<PrCurve> as_pr_curve(const Array& value) {
  constexpr double rounding = 1e-6;  // of sums of weights
  if (value.dtype() != DType::f64 || value.shape().rank() != 2 || value.shape()[0] != 6
      || value.shape()[1] < 2)
    return {};
  PrCurve curve;
  std::vector<double>* counts[] = {&curve.true_positives, &curve.false_positives,
                                   &curve.true_negatives, &curve.false_negatives};
  std::int64_t n = value.shape()[1];
  double positives = value.at(0), negatives = value.at(n);
  for (std::int64_t i = 0; i < n; ++i) {
    auto row = [&](std::int64_t number) { return value.at(number * n + i); };
    double tp = row(0), fp = row(1), tn = row(2), fn = row(3);
    auto same = [&](double a, double b) {
      return std::abs(a - b) <= rounding * (positives + negatives);
    };
    if (!same(tp + fn, positives) || !same(fp + tn, negatives)
        || row(4) != tp / std::max(1e-7, tp + fp) || row(5) != tp / std::max(1e-7, tp + fn))
      return {};
    for (std::int64_t k = 0; k < 4; ++k) counts[k]->push_back(row(k));
  }
  if (positives + negatives <= 0) return {};
  return curve;
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

std::string evaluation_dir(const std::string& model_dir, std::string_view name) {
  return concat(model_dir, "/eval", name.empty() ? "" : "_", name);
}

void check_evaluation_name(std::string_view caller, std::string_view name) {
  require(name.find('/') == std::string_view::npos, caller, ": `", name,
          "` is no name for an evaluation; use one without slashes");
}

void write_evaluation(const std::string& dir, const EvalResult& result, std::int64_t step,
                      const std::string& checkpoint) {
  EventFile file(dir);
  write_evaluation(file, result, step, checkpoint);
}

void write_evaluation(EventFile& file, const EvalResult& result, std::int64_t step,
                      const std::string& checkpoint) {
  std::vector<EventValue> values;
  for (const auto& [name, value] : result)
    if (auto curve = as_pr_curve(value)) values.push_back(pr_curve_summary(name, *curve));
  for (const auto& [name, value] : scalars_of(result))
    values.push_back(scalar_summary(name, value));
  if (!checkpoint.empty()) values.push_back(text_summary("checkpoint_path", checkpoint));
  file.add(step, std::move(values));
}

}  // namespace belfry::hooks
