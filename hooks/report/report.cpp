#include "belfry/hooks/report/report.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <future>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/base/folder_names.h"
#include "belfry/framework/base/json.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/base/mutex.h"
#include "belfry/hooks/record/recorder.h"
#include "belfry/hooks/record/values.h"
#include "belfry/hooks/report/report_data.h"
#include "belfry/version.h"

namespace belfry::hooks {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_curves = 1000, points_of_histograms = 100, most_runs = 20,
                      most_bytes_of_state = 256 << 10;

CurveGroup group_of(const std::string& name) {
  CurveGroup group = CurveGroup::value;
  require(from_name(name, group), "report: its state has a curve of kind `", name, "`");
  return group;
}

// With as many points a curve as there is room for; at last, as many curves.
JsonNode kept(const Curves& curves) {
  for (std::size_t most = 500;; most /= 2) {
    JsonNode out = JsonNode::list();
    std::size_t bytes = 0;
    for (const auto& [key, curve] : curves) {
      JsonNode item =
          JsonNode::list({to_string(key.group), key.name, key.series, curve.text(most)});
      bytes += item.text().size() + 1;
      if (bytes > most_bytes_of_state) break;
      out.push(std::move(item));
    }
    if (bytes <= most_bytes_of_state || most < 4) return out;
  }
}

// Pages of one path, in a thread of their own if nobody waits for them.
class PageWriter {
 public:
  explicit PageWriter(std::string path) : path_(std::move(path)) {}

  bool busy() const {
    return writing_.valid()
           && writing_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  }
  void write_beside(ReportData data) {
    try {
      writing_ = std::async(std::launch::async, [this, data = std::move(data)] { write(data); });
    } catch (const std::exception& error) {
      warn(error);
    }
  }
  void write_now(const ReportData& data) {
    if (writing_.valid()) writing_.wait();
    write(data);
  }

 private:
  void write(const ReportData& data) noexcept {
    try {
      write_file_atomically(path_, std::string_view(report_page(data)));
    } catch (const std::exception& error) {
      warn(error);
    }
  }
  void warn(const std::exception& error) {
    if (!warned_.exchange(true)) log_warning("report: ", error.what());
  }

  std::string path_;
  std::atomic<bool> warned_ = false;
  std::future<void> writing_;  // last: its end is waited for
};

// Hooks of a training that failed are ended while what was thrown is being handled; one that did
// not fail may itself have been called while something else is.
std::string reason_of(Outcome outcome, const HookContext& context) {
  if (std::exception_ptr failure = std::current_exception(); failure && outcome == Outcome::failed)
    return what_of(failure);
  return outcome == Outcome::finished && context.data_ended() ? "the data ended" : "";
}

class WriteReport final : public Report {
 public:
  explicit WriteReport(ReportOptions options)
      : o_(std::move(options)),
        recorder_({.every = o_.every, .clock = o_.clock, .last_step = true, .not_finite = true}) {
    if (!o_.wall_time) o_.wall_time = system_seconds;
  }

  void after_apply(GradientStage& stage) override { recorder_.after_apply(stage); }

  void begin(HookContext& context) override {
    MutexLock lock(mutex_);
    writer_.reset();  // of an earlier training
    recorder_.begin(context);
    begun_ = true;
    chief_ = context.is_chief();
    if (!chief_) return;
    if (!std::exchange(restored_, false)) {  // another model, or a new one
      curves_.clear(), runs_.clear(), after_end_.clear();
      earlier_seconds_ = 0;
    }
    for (const auto& [key, step, value] : std::exchange(after_end_, {})) add(key, step, value);
    runs_.push_back(context.step());
    if (runs_.size() > most_runs) runs_.erase(runs_.begin());
    page_ = first_page(context);
    began_ = o_.clock();
    written_ = {};
    writer_ = std::make_unique<PageWriter>(
        o_.path.empty() ? path_in(context.model_dir(), "report.html") : o_.path);
  }

  // By number, so that all workers say the same.
  void before_step(StepRequest& request) override {
    request.summaries |=
        request.step % o_.summaries.count == 0 || request.step + 1 == request.context.last_step();
  }

  bool needs_result_now(HookContext& context, std::int64_t step) override {
    return recorder_.needs_result_now(context, step);
  }

  void after_step(const StepResult& result) override {
    if (!chief_) return;
    MutexLock lock(mutex_);
    double now = o_.clock();
    if (auto record = recorder_.after_step(result)) add(*record);
    page_.step = result.step;
    page_.steps = recorder_.total();
    for (const SummaryValue& value : result.summaries) add_summary(value, result.step);
    bool first = !written_;
    if (first) page_.facts.insert(page_.facts.begin(), {"Rows of a step", text(result.rows)});
    if (!writer_->busy()
        && (first || now - *written_ >= std::chrono::duration<double>(o_.write_every).count())) {
      written_ = now;
      page_.stages = result.context.input_stages();
      writer_->write_beside(current_page());
    }
  }

  void end(HookContext& context, Outcome outcome) override {
    MutexLock lock(mutex_);
    recorder_.end();
    begun_ = false;
    if (!writer_) return;  // not the chief, or begin() has failed
    page_.seconds = o_.clock() - began_;
    page_.outcome = outcome;
    page_.reason = reason_of(outcome, context);
    page_.stages = context.input_stages();
    writer_->write_now(current_page());
  }

  std::string name() const override { return "report"; }
  std::string state() const override;
  void restore(const std::string& state) override;

  void add_evaluation(std::int64_t step, const EvalResult& result,
                      const std::string& name) override {
    MutexLock lock(mutex_);
    if (!writer_) return;
    for (const auto& [metric, value] : scalars_of(result)) {
      CurveKey key{CurveGroup::evaluation, metric, name};
      add(key, step, value);
      if (!begun_) after_end_.push_back({key, step, value});
    }
    write_if_ended();
  }

  void add_images(std::int64_t step, const std::string& name, const Array& images) override {
    std::vector<Array> shown = shown_images(images, name);
    MutexLock lock(mutex_);
    if (!writer_) return;
    page_.images[name] = {step, std::move(shown)};
    write_if_ended();
  }

  void add_result(const TrainResult& result) override {
    MutexLock lock(mutex_);
    if (!writer_) return;
    page_.outcome = result.outcome;
    if (!result.reason.empty()) page_.reason = result.reason;
    write_if_ended();
  }

 private:
  struct Value {
    CurveKey key;
    std::int64_t step;
    double value;
  };

  void add(const CurveKey& key, std::int64_t step, double value) BELFRY_REQUIRES(mutex_) {
    auto found = curves_.find(key);
    if (found == curves_.end()) {
      if (curves_.size() >= most_curves) {
        if (!std::exchange(warned_, true))
          log_warning("report: there are more than ", most_curves, " curves; `", key.name,
                      "` and others are left out");
        return;
      }
      found = curves_
                  .emplace(key, key.group == CurveGroup::histogram ? Curve(points_of_histograms)
                                                                   : Curve())
                  .first;
    }
    found->second.add(step, value);
  }

  void add(const Record& record) BELFRY_REQUIRES(mutex_) {
    for (const auto& [name, value] : record.values)
      add({CurveGroup::value, name}, record.step, value);
    for (const auto& [name, rate] : record.learning_rates)
      add({CurveGroup::rate, name}, record.step, rate);
    if (!record.speed) return;
    add({CurveGroup::speed, "steps/s"}, record.step, record.speed->steps_per_second());
    add({CurveGroup::speed, "examples/s"}, record.step, record.speed->examples_per_second());
    add({CurveGroup::speed, "waiting for input"}, record.step,
        100 * record.speed->waiting_fraction());
  }

  void add_summary(const SummaryValue& value, std::int64_t step) BELFRY_REQUIRES(mutex_) {
    switch (value.kind) {
      case SummaryKind::scalar:
        return add({CurveGroup::scalar, value.name}, step, value.value.item());
      case SummaryKind::histogram: {
        auto found = percentiles_of(value.value);
        for (std::size_t i = 0; i < found.size(); ++i)
          add({CurveGroup::histogram, value.name, percentiles[i]}, step, found[i]);
        return;
      }
      case SummaryKind::image:
        page_.images[value.name] = {step, shown_images(value.value, value.name)};
        return;
      case SummaryKind::text:
        page_.texts[value.name] = {step, shown_text(value)};
        return;
    }
  }

  ReportData first_page(HookContext& context) const BELFRY_REQUIRES(mutex_);

  // The duration of this training.
  double seconds() const BELFRY_REQUIRES(mutex_) {
    return begun_ ? o_.clock() - began_ : page_.seconds;
  }

  ReportData current_page() const BELFRY_REQUIRES(mutex_) {
    ReportData page = page_;
    page.curves = curves_;
    page.written = o_.wall_time();
    page.seconds = seconds();
    page.facts.emplace_back("Time of training", duration_text(earlier_seconds_ + seconds()));
    return page;
  }

  void write_if_ended() BELFRY_REQUIRES(mutex_) {
    if (chief_ && !begun_) writer_->write_now(current_page());
  }

  ReportOptions o_;
  Recorder recorder_;

  // These flags change under mutex_; training, which alone changes them, reads them without it.
  std::atomic<bool> begun_ = false, chief_ = true;

  mutable Mutex mutex_;
  bool restored_ BELFRY_GUARDED_BY(mutex_) = false, warned_ BELFRY_GUARDED_BY(mutex_) = false;
  ReportData page_ BELFRY_GUARDED_BY(mutex_);  // without the curves
  Curves curves_ BELFRY_GUARDED_BY(mutex_);
  std::vector<Value> after_end_ BELFRY_GUARDED_BY(mutex_);    // results while no training ran
  std::vector<std::int64_t> runs_ BELFRY_GUARDED_BY(mutex_);  // steps at which trainings began
  double began_ BELFRY_GUARDED_BY(mutex_) = 0, earlier_seconds_ BELFRY_GUARDED_BY(mutex_) = 0;
  std::optional<double> written_ BELFRY_GUARDED_BY(mutex_);
  // Since the first training on the chief.
  std::unique_ptr<PageWriter> writer_ BELFRY_GUARDED_BY(mutex_);
};

ReportData WriteReport::first_page(HookContext& context) const {
  const RunConfig& config = context.config();
  fs::path dir = fs::absolute(context.model_dir()).lexically_normal();
  std::string name = (dir.has_filename() ? dir : dir.parent_path()).filename().string();
  ReportData page{.title = o_.title.empty() ? "Training of " + name : o_.title,
                  .model_dir = dir.string(),
                  .plan = o_.plan.empty() ? context.plan() : o_.plan,
                  .step = context.step(),
                  .last_step = context.last_step()};
  auto add = [&](const char* what, const std::string& value) {
    page.facts.emplace_back(what, value);
  };
  add("Devices", join(config.devices, ", "));
  if (config.split.devices > 0) add("Devices of a tower", text(config.split.devices));
  add("Batch policy", to_string(config.batch));
  add("Precision", to_string(config.precision));
  add("Seed", text(config.seed));
  for (const auto& [what, value] : o_.facts) add(what.c_str(), value);
  add("Version of Belfry", std::string(version()));
  add("Began", date_text(o_.wall_time()));
  add(runs_.size() > 1 ? "Began after steps" : "Began after step", join(runs_, ", "));
  return page;
}

std::string WriteReport::state() const {
  MutexLock lock(mutex_);
  return JsonNode::object({{"seconds", earlier_seconds_ + seconds()},
                           {"runs", JsonNode::list({runs_.begin(), runs_.end()})},
                           {"curves", kept(curves_)}})
      .text();
}

void WriteReport::restore(const std::string& state) {
  MutexLock lock(mutex_);
  try {
    JsonValue json = JsonValue::parse(state, "its state in the checkpoint");
    Curves curves;
    for (const JsonValue& item : json.required("curves").elements()) {
      std::vector<JsonValue> parts = item.elements();
      if (parts.size() != 4) item.refuse("[group, name, series, points]");
      CurveKey key{group_of(parts[0].words()), parts[1].words(), parts[2].words()};
      Curve curve = key.group == CurveGroup::histogram ? Curve(points_of_histograms) : Curve();
      curve.read(parts[3].words());
      curves.emplace(key, std::move(curve));
    }
    std::vector<std::int64_t> runs;
    for (const JsonValue& run : json.required("runs").elements()) runs.push_back(run.whole());
    earlier_seconds_ = json.required("seconds").number();
    runs_ = std::move(runs);
    curves_ = std::move(curves);
    restored_ = true;
  } catch (const std::exception& error) {
    log_warning("report: the curves before the restart are lost: ", error.what());
  }
}

}  // namespace

std::shared_ptr<Report> report(ReportOptions options) {
  auto check = [](const char* name, std::int64_t count) {
    require(count >= 1, "report: ", name, " must be at least 1, got ", count);
  };
  require(is_positive(options.every), "report: every must be above 0, got ", options.every);
  check("summaries", options.summaries.count);
  check("write_every", options.write_every.count());
  if (!options.clock) options.clock = monotonic_seconds;
  return std::make_shared<WriteReport>(std::move(options));
}

}  // namespace belfry::hooks
