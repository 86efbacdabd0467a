#include <filesystem>

#include "../../framework/train/resuming_model.h"
#include "belfry/framework/base/folder_names.h"
#include "belfry/framework/export/predictor.h"
#include "belfry/framework/framework.h"
#include "belfry/framework/tensor/tensor_bundle.h"
#include "belfry/hooks/hooks.h"
#include "belfry/models/make.h"
#include "scenario_kinds.h"

namespace belfry {
namespace {

using Folder = TemporaryFolder;

std::function<std::unique_ptr<Scenario>()> use(Uses::Use work) {
  return [=] { return std::make_unique<Uses>(work); };
}

void add_exports(Scenarios& all) {
  all["predict_exported"] = use([](Estimator& e, const Folder& f) {
    if (!std::filesystem::exists(f / "once/")) e.export_model(f / "once/", exports());
    return digest(Predictor::load(f / "once/")(a_batch()));
  });
  all["export"] = use([](Estimator& e, const Folder& f) {
    std::error_code ignored;
    remove_tree(f / "exports", ignored);
    std::string folder = e.export_model(f / "exports/", exports());
    std::string files;
    for (const char* name : {"graph.json", "model.safetensors", "model.onnx"})
      files += concat(name, " ", read_file(std::filesystem::path(folder) / name).size(), "; ");
    return files;
  });
}

void add_evaluations(Scenarios& all) {
  all["evaluate"] = use([](Estimator& e, const Folder&) {
    return text(e.evaluate(shuffled_digits_of(1), {.steps = 4}).at("accuracy"));
  });
  all["evaluate_continuously"] = use([](Estimator& e, const Folder&) {
    std::optional<EvalResult> found = evaluate_continuously(
        e, {.input_fn = shuffled_digits_of(1), .steps = 2},
        {.max_steps = 3, .timeout = std::chrono::minutes(1), .poll = std::chrono::milliseconds(1)});
    return text(found.value().at("accuracy"));
  });
  all["evaluate_all"] = use([](Estimator& e, const Folder&) {
    std::string out;
    for (const auto& [step, found] :
         evaluate_all(e, {.input_fn = shuffled_digits_of(1), .steps = 2}))
      out += concat(step, ": ", found.at("accuracy"), "; ");
    return out;
  });
}

std::function<std::unique_ptr<Scenario>()> warm_start(
    std::function<WarmStart(const std::string& checkpoint, const Folder&)> options) {
  return use([=](Estimator& e, const Folder& f) {
    Estimator other({.model_fn = with_predictions,
                     .model_dir = f / "warm",
                     .run = e.config(),
                     .warm_start = options(*e.latest_checkpoint(), f)});
    return digest(other.predictor()(a_batch()));
  });
}

void add_warm_starts(Scenarios& all) {
  all["warm_start"] = warm_start(
      [](const std::string& checkpoint, const Folder&) { return WarmStart{.from = checkpoint}; });
  all["warm_start_from_bundle"] = warm_start([](const std::string& checkpoint, const Folder& f) {
    if (!is_tensor_bundle(f / "bundle"))
      write_tensor_bundle(f / "bundle", load_weights(checkpoint).tensors);
    return WarmStart{.from = f / "bundle"};
  });
  all["warm_start_from_parts"] = warm_start([](const std::string& checkpoint, const Folder& f) {
    const std::string index = f / "model.safetensors.index.json";
    if (!std::filesystem::exists(index)) {
      std::string map;
      for (const auto& [name, array] : load_weights(checkpoint).tensors) {
        std::string part = concat("part", map.size(), ".safetensors");
        save_safetensors(f / part, {{name, array}});
        map += concat(map.empty() ? "" : ", ", "\"", name, "\": \"", part, "\"");
      }
      write_file_atomically(index, "{\"weight_map\": {" + map + "}}");
    }
    return WarmStart{.from = index};
  });
  all["warm_start_with_vocabulary"] = warm_start([](const std::string& checkpoint,
                                                    const Folder& f) {
    for (auto [name, tokens] : {std::pair("old", "a\nb\nc\nd\n"), {"new", "d\na\nx\nb\n"}})
      if (!std::filesystem::exists(f / name)) write_file_atomically(f / name, tokens);
    return WarmStart{
        .from = checkpoint,
        .renames = {{"(in|out)/(.*)", "$1/$2"}},
        .vocabularies = {
            {.variable = "out/kernel", .tokens = f / "new", .old_tokens = f / "old", .axis = 1}}};
  });
}

void add_options(Scenarios& all) {
  all["run_config_from_json"] = use([](Estimator& e, const Folder&) {
    return to_json(run_config_from_json(to_json(e.config())));
  });
  all["make_model"] = use([](Estimator&, const Folder&) {
    ModelFn model =
        models::make("mlp", R"({"hidden": [7], "classes": 3, "optimizer": {"name": "momentum",
                   "learning_rate": {"name": "cosine_decay", "initial": 0.1, "decay_steps": 9}}})");
    return std::string(model ? "made" : "empty");
  });
}

}  // namespace

void add_uses(Scenarios& all) {
  all["plan"] = use([](Estimator& e, const Folder&) {
    std::string plan = e.plan(shuffled_digits());
    return plan.substr(0, plan.find("hooks:"));  // names of types, mangled where memory is short
  });
  all["predict"] =
      use([](Estimator& e, const Folder&) { return digest(e.predictor()(a_batch())); });
  add_exports(all);
  all["resume"] = use([](Estimator& e, const Folder&) {
    Estimator other({.model_fn = with_predictions, .model_dir = e.model_dir(), .run = e.config()});
    return digest({{"kernel", other.variable_value("in/kernel")}});
  });
  add_evaluations(all);
  add_warm_starts(all);
  add_options(all);
}

}  // namespace belfry
