#include "belfry/hooks/evaluate/exporters.h"

#include <filesystem>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/base/folder_names.h"
#include "belfry/framework/base/json.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/base/out_of_memory.h"
#include "belfry/framework/export/saved_graph.h"
#include "belfry/framework/train/activity.h"
#include "belfry/hooks/evaluate/best.h"

namespace belfry {
namespace {

namespace fs = std::filesystem;

void check(const char* exporter, const std::string& name, const ExportOptions& model) {
  require(!name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos,
          exporter, ": `", name, "` is no name for its folder; use one without slashes");
  require(!model.signatures.empty(), exporter, " `", name,
          "`: there are no signatures; set .model = {.signatures = ...}");
  require(model.checkpoint.empty(), exporter, " `", name,
          "`: it exports what was evaluated, not the checkpoint ", model.checkpoint);
}

// Removes an export; one that cannot be removed is left with a warning. Whenever this is killed the
// export is either whole or has the name of a temporary folder of write_export_folder(), which then
// removes it.
void remove_export(const std::string& path) {
  fs::path folder = fs::path(path).parent_path(), name = fs::path(path).filename();
  fs::path doomed = folder / concat(".export.tmp.removed.", name.string());
  std::error_code error;
  remove_tree(doomed, error);
  if (!error) fs::rename(path, doomed, error);
  if (!error) sync_folder(folder);
  if (!error) remove_tree(doomed, error);
  if (error) log_warning("could not remove ", path, ": ", error.message());
}

// The common part of the exporters here.
class ModelExporter : public Exporter {
 public:
  ModelExporter(std::string name, ExportOptions model)
      : name_(std::move(name)), model_(std::move(model)) {}

  std::string name() const override { return name_; }
  void begin(Estimator& estimator, const std::string&) override { estimator.check_export(model_); }

 protected:
  std::string write(const EvaluatedState& state) const {
    ActivityScope activity({.what = concat("exporting ", name_)});
    return export_state(state, model_);
  }

 private:
  std::string name_;
  ExportOptions model_;
};

// Nothing if its graph.json does not say: somebody may have damaged it.
std::optional<std::int64_t> step_of(const std::string& exported) {
  try {
    return JsonValue::parse(read_file(exported + "/graph.json"), "", saved::deepest_json)
        .required("step")
        .whole();
  } catch (const std::exception&) {
    if (is_shortage()) throw;
    return std::nullopt;
  }
}

// Whether the newest export in the folder is of this step: a training that had nothing to do would
// only write it again, and push out another.
bool newest_is_of(const EvaluatedState& state) {
  std::vector<std::string> all = list_exports(state.folder);
  return !all.empty() && step_of(all.back()) == state.step;
}

class LatestExporter final : public ModelExporter {
 public:
  explicit LatestExporter(LatestExporterOptions o)
      : ModelExporter(std::move(o.name), std::move(o.model)), keep_(o.keep) {}

  std::optional<std::string> after_evaluation(const EvaluatedState& state) override {
    if (newest_is_of(state)) return std::nullopt;
    std::string path = write(state);
    remove_old_exports(state.folder, keep_);
    return path;
  }

 private:
  KeepRules keep_;
};

class BestExporter final : public ModelExporter {
 public:
  explicit BestExporter(BestExporterOptions o)
      : ModelExporter(std::move(o.name), std::move(o.model)),
        metric_(std::move(o.metric)),
        better_(o.better),
        keep_(o.keep) {}

  std::string metric() const override { return metric_; }
  void begin(Estimator& estimator, const std::string& folder) override {
    ModelExporter::begin(estimator, folder);
    hooks::BestList(folder, metric_, better_);
  }
  // The list is read each time: it alone says what was the best, whoever wrote it.
  std::optional<std::string> after_evaluation(const EvaluatedState& state) override {
    hooks::BestList list(state.folder, metric_, better_);
    double value = state.result.at(metric_);
    if (!list.is_best(value)) return std::nullopt;
    std::string path = write(state);
    list.add({fs::path(path).filename().string(), state.step, value}, keep_);
    if (keep_ == 0) return path;
    for (const std::string& old : list_exports(state.folder))
      if (!list.has(fs::path(old).filename().string())) remove_export(old);
    return path;
  }

 private:
  std::string metric_;
  Better better_;
  int keep_;
};

class FinalExporter final : public ModelExporter {
 public:
  using ModelExporter::ModelExporter;

  std::optional<std::string> at_end(const EvaluatedState& state) override {
    if (newest_is_of(state)) return std::nullopt;
    return write(state);
  }
};

}  // namespace

std::string export_state(const EvaluatedState& state, ExportOptions options) {
  options.checkpoint = state.checkpoint;
  options.averaged |= state.averaged;
  return state.estimator.export_model(state.folder, std::move(options));
}

std::shared_ptr<Exporter> latest_exporter(LatestExporterOptions options) {
  check("latest_exporter", options.name, options.model);
  validate(options.keep, concat("latest_exporter `", options.name, "`: keep"));
  return std::make_shared<LatestExporter>(std::move(options));
}

std::shared_ptr<Exporter> best_exporter(BestExporterOptions options) {
  check("best_exporter", options.name, options.model);
  require(options.keep >= 0, "best_exporter `", options.name, "`: keep must be at least 0, got ",
          options.keep);
  return std::make_shared<BestExporter>(std::move(options));
}

std::shared_ptr<Exporter> final_exporter(FinalExporterOptions options) {
  check("final_exporter", options.name, options.model);
  return std::make_shared<FinalExporter>(std::move(options.name), std::move(options.model));
}

void remove_old_exports(const std::string& folder, const KeepRules& keep) {
  validate(keep, "remove_old_exports: keep");
  struct Export {
    std::string path;
    WrittenAt written;
  };
  std::vector<Export> all;
  for (const std::string& path : list_exports(folder)) {
    std::chrono::seconds time(std::stoll(fs::path(path).filename()));
    std::optional<std::int64_t> step = 0;
    if (keep.ask_for_steps()) step = step_of(path);
    if (step) all.push_back({path, {*step, time}});  // one that is damaged stays
  }
  std::optional<WrittenAt> last;
  auto older = keep.newest == 0 ? 0 : std::ssize(all) - keep.newest;
  for (std::ptrdiff_t i = 0; i < older; ++i) {
    const auto& [path, written] = all[i];
    if (stays(keep, written, all[i + 1].written, last)) {
      last = written;
    } else {
      remove_export(path);
    }
  }
}

}  // namespace belfry
