#include <filesystem>

#include "../../framework/train/resuming_model.h"
#include "belfry/framework/base/folder_names.h"
#include "belfry/framework/export/predictor.h"
#include "belfry/framework/framework.h"
#include "scenario_kinds.h"

namespace belfry {
namespace {

using Folder = TemporaryFolder;

std::function<std::unique_ptr<Scenario>()> use(Uses::Use work) {
  return [=] { return std::make_unique<Uses>(work); };
}

void add_exports(Scenarios& all) {
  all["predict_exported"] = use([](Estimator& e, const Folder& f) {
    if (!std::filesystem::exists(f / "once")) e.export_model(f / "once", exports());
    return digest(Predictor::load(f / "once")(a_batch()));
  });
  all["export"] = use([](Estimator& e, const Folder& f) {
    std::error_code ignored;
    remove_tree(f / "exports", ignored);
    std::string folder = e.export_model(f / "exports", exports());
    std::string files;
    for (const char* name : {"graph.json", "model.safetensors", "model.onnx"})
      files += concat(name, " ", read_file(std::filesystem::path(folder) / name).size(), "; ");
    return files;
  });
}

}  // namespace

void add_uses(Scenarios& all) {
  all["plan"] = use([](Estimator& e, const Folder&) {
    std::string plan = e.plan(shuffled_digits());
    return plan.substr(0, plan.find("hooks:"));  // names of types, mangled where memory is short
  });
  all["evaluate"] = use([](Estimator& e, const Folder&) {
    return text(e.evaluate(shuffled_digits_of(1), {.steps = 4}).at("accuracy"));
  });
  all["predict"] =
      use([](Estimator& e, const Folder&) { return digest(e.predictor()(a_batch())); });
  add_exports(all);
  all["resume"] = use([](Estimator& e, const Folder&) {
    Estimator other({.model_fn = with_predictions, .model_dir = e.model_dir(), .run = e.config()});
    return digest({{"kernel", other.variable_value("in/kernel")}});
  });
  all["warm_start"] = use([](Estimator& e, const Folder& f) {
    Estimator other({.model_fn = with_predictions,
                     .model_dir = f / "warm",
                     .run = e.config(),
                     .warm_start = WarmStart{.from = *e.latest_checkpoint()}});
    return digest(other.predictor()(a_batch()));
  });
}

}  // namespace belfry
