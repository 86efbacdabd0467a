#include <algorithm>
#include <filesystem>
#include <memory>

#include "../hooks/evaluate/evaluation_testing.h"
#include "../hooks/tensorboard/events.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/base/json.h"
#include "belfry/framework/tensor/safetensors.h"
#include "belfry/framework/tensor/tensor_bundle.h"
#include "belfry/hooks/hooks.h"
#include "file_work.h"

namespace belfry {
namespace {

using MakeHooks = std::function<Hooks(Estimator&)>;

constexpr std::int64_t last_step = 3;

/// All checkpoints of a folder are whole, those of its own folders too; w was `first`.
std::string fault_of_checkpoints(const std::string& folder, double first) {
  for (const std::string& dir : {folder, folder + "/best"})
    for (const CheckpointFile& file : list_checkpoints(dir)) {
      Checkpoint read = load_checkpoint(file.path);
      if (read.step != file.step
          || read.variables.at("w").item() != first - 0.25 * static_cast<double>(read.step))
        return file.path + " holds something else";
    }
  return {};
}

/// Says at which step a training began.
struct Beginning final : Hook {
  void begin(HookContext& context) override { step = context.step(); }
  std::int64_t step = 0;
};

/// Says what is wrong with the files of hooks, when all went well up to step `last`; 0: it did not.
using FaultOfHooks = std::function<std::string(std::int64_t last)>;

std::string right(std::int64_t) { return {}; }

Hooks no_hooks(Estimator&) { return {}; }

void train_alone(Estimator& estimator, const TrainSpec& spec) {
  estimator.train(spec.input_fn, spec.options);
}

struct Training {
  RunConfig run = saving_every(3);
  std::int64_t before = 0;  ///< steps that there are already
  MakeHooks hooks = no_hooks;
  FaultOfHooks fault_of_hooks = right;
  std::optional<WarmStart> warm_start = {};
  double first = 8;  ///< w at first
  std::function<void(Estimator&, const TrainSpec&)> train = train_alone;
};

/// Trains from the newest checkpoint to the last step, and each time one step further.
FileWork train(const std::string& folder, const Training& training) {
  InputFn input = over_and_over({points({1, 1}, {1, 1})});
  EstimatorOptions options{.model_fn = passing_seven,
                           .model_dir = folder,
                           .run = training.run,
                           .warm_start = training.warm_start};
  std::int64_t before = training.before;
  if (before > 0) Estimator(options).train(input, {.max_steps = before});
  auto estimator = std::make_shared<std::unique_ptr<Estimator>>();
  auto beginning = std::make_shared<Beginning>();
  auto last = std::make_shared<std::int64_t>(last_step - 1);
  auto run = [=] {
    ++*last;
    if (!*estimator) *estimator = std::make_unique<Estimator>(options);
    Hooks all = training.hooks(**estimator);
    all.push_back(beginning);
    training.train(**estimator, {input, {.max_steps = *last, .hooks = all}});
  };
  auto fault = [=](bool done) -> std::string {
    std::string found = fault_of_checkpoints(folder, training.first);
    if (!found.empty()) return found;
    auto all = saved_steps(folder);
    if (done && (all.empty() || all.back() != *last)) return "the last checkpoint is missing";
    if (before > 0 && (all.empty() || all.back() < before)) return "steps are lost";
    if (done && beginning->step < before) return "it began anew";
    return training.fault_of_hooks(done ? *last : 0);
  };
  return {run, fault};
}

FileWork checkpoints(const std::string& folder, bool in_background) {
  RunConfig config = saving_every(1, 2);
  config.save_in_background = in_background;
  return train(folder, {.run = config});
}

FileWork resumption(const std::string& folder) {
  return train(folder, {.run = saving_every(1, 2), .before = 2});
}

FileWork two_towers(const std::string& folder) {
  RunConfig config = saving_every(1, 2);
  config.devices = {"cpu:0", "cpu:1"};
  return train(folder, {.run = config, .before = 1});
}

/// Begins with w = 3 from a source of some kind.
FileScenario warm_start(const std::string& name,
                        const std::function<void(const std::string& path)>& write,
                        const std::string& from) {
  return {"warm_start_" + name, [=](const std::string& folder) {
            std::string source = folder + "/source";
            std::filesystem::create_directory(source);
            write(source);
            return train(folder, {.warm_start = WarmStart{.from = source + from}, .first = 3});
          }};
}

std::vector<FileScenario> warm_starts() {
  const NamedArrays w{{"w", Array::scalar(3.f)}};
  auto checkpoint = [=](auto& source) {
    save_checkpoint(source, {.variables = w, .step = 1}, {.newest = 1});
  };
  auto file = [=](auto& source) { save_safetensors(source + "/model.safetensors", w); };
  auto shards = [=](auto& source) {
    save_safetensors(source + "/a.safetensors", w);
    write_file_atomically(source + "/model.safetensors.index.json",
                          R"({"weight_map": {"w": "a.safetensors"}})");
  };
  auto bundle = [=](auto& source) {
    write_tensor_bundle(source + "/model.ckpt-4", w);
    write_file_atomically(source + "/checkpoint", "model_checkpoint_path: \"model.ckpt-4\"\n");
  };
  return {warm_start("checkpoint", checkpoint, "/checkpoint-1.safetensors"),
          warm_start("model_dir", checkpoint, ""),
          warm_start("file", file, "/model.safetensors"),
          warm_start("export", file, ""),
          warm_start("shards", shards, "/model.safetensors.index.json"),
          warm_start("bundle", bundle, "/model.ckpt-4"),
          warm_start("folder_of_bundles", bundle, "")};
}

FileWork report(const std::string& folder) {
  auto hooks = [](Estimator&) { return Hooks{hooks::report({.every = Steps(1)})}; };
  auto fault = [=](std::int64_t last) -> std::string {
    std::string path = folder + "/report.html";
    if (last == 0 && !std::filesystem::exists(path)) return {};
    std::string page = read_file(path);
    bool whole = page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n");
    return whole ? "" : "the page is not whole";
  };
  return train(folder, {.hooks = hooks, .fault_of_hooks = fault});
}

FileWork summaries(const std::string& folder) {
  auto hooks = [](Estimator&) {
    return Hooks{
        hooks::summaries({.every = Steps(1), .graph = false, .flush = std::chrono::hours(1)})};
  };
  auto fault = [=](std::int64_t last) -> std::string {
    auto files = hooks::event_files(folder);
    if (files.empty()) return last > 0 ? "there is no event file" : "";
    auto words = hooks::words_of(files.back());
    std::string wanted = concat(last, " loss=", 8 - 0.25 * static_cast<double>(last - 1));
    bool there = std::ranges::find(words, wanted) != words.end();
    return last == 0 || there ? "" : "events are missing: " + join(words, ", ");
  };
  return train(folder, {.hooks = hooks, .fault_of_hooks = fault});
}

FileWork best(const std::string& folder) {
  auto hooks = [](Estimator& estimator) {
    return Hooks{hooks::validate(
        estimator, {.input_fn = once({one_point()}), .every = Steps(1), .keep_best = 1})};
  };
  auto fault = [=](std::int64_t last) -> std::string {
    auto best = hooks::best_checkpoint(folder);
    if (last == 0) return {};
    return best && load_checkpoint(*best).step == last ? "" : "the best is another";
  };
  return train(folder,
               {.run = saving_every(1, 2), .before = 2, .hooks = hooks, .fault_of_hooks = fault});
}

FileWork profile(const std::string& folder) {
  std::string path = folder + "/trace.json";
  auto hooks = [=](Estimator&) {
    return Hooks{hooks::profile({.path = path, .first_step = 1, .steps = 1})};
  };
  auto fault = [=](std::int64_t last) -> std::string {
    if (last == 0 && !std::filesystem::exists(path)) return {};
    bool empty = JsonValue::parse(read_file(path), path).elements().empty();
    return last == 0 || !empty ? "" : "the trace is empty";
  };
  return train(folder, {.before = 1, .hooks = hooks, .fault_of_hooks = fault});
}

/// All exports are whole; those of the last step are there when all went well.
std::string fault_of_exports(const std::string& folder, std::int64_t last) {
  for (const char* name : {"latest", "best", "final"}) {
    double newest = 0;
    for (const std::string& path : list_exports(concat(folder, "/export/", name)))
      newest = exported_step(path);
    if (last > 0 && newest != static_cast<double>(last))
      return concat("the newest of `", name, "` is of step ", newest);
  }
  return {};
}

FileWork exporters(const std::string& folder) {
  Exporters exporters{latest_exporter({.model = of_x(), .keep = {.newest = 1}}),
                      best_exporter({.model = of_x(), .keep = 1}),
                      final_exporter({.model = of_x()})};
  EvalSpec spec{.name = "t",
                .input_fn = once({one_point()}),
                .every = Steps(1),
                .keep_best = 1,
                .exporters = exporters};
  auto train_and_export = [=](Estimator& estimator, const TrainSpec& training) {
    train_and_evaluate(estimator, training, {spec});
  };
  return train(folder, {.before = 2,
                        .fault_of_hooks = [=](auto last) { return fault_of_exports(folder, last); },
                        .train = train_and_export});
}

/// Work with a model that is trained, by one Estimator, which finds the same each time.
FileScenario use(const std::string& name, std::function<double(Estimator&)> find) {
  return {name, [=](const std::string& folder) {
            EstimatorOptions options{
                .model_fn = passing_seven, .model_dir = folder, .run = saving_every(1, 2)};
            Estimator(options).train(over_and_over({one_point()}), {.max_steps = 2});
            auto estimator = std::make_shared<Estimator>(options);
            return reading([=] { return text(find(*estimator)); });
          }};
}

std::vector<FileScenario> uses() {
  const EvalSpec spec{.input_fn = once({one_point()})};
  auto evaluate = [=](Estimator& e) { return e.evaluate(spec.input_fn).at("distance"); };
  auto continuously = [=](Estimator& e) {
    return evaluate_continuously(e, spec, {.max_steps = 2}).value().at("distance");
  };
  auto predict = [](Estimator& e) {
    return e.predictor()(Features{{"x", one_point().at("x")}}).at("y").item();
  };
  return {use("evaluate", evaluate), use("evaluate_continuously", continuously),
          use("predict", predict)};
}

}  // namespace

std::vector<FileScenario> training_scenarios() {
  std::vector<FileScenario> out{
      {"checkpoints", [](auto& folder) { return checkpoints(folder, false); }},
      {"checkpoints_in_the_background", [](auto& folder) { return checkpoints(folder, true); }},
      {"resumption", resumption},
      {"report", report},
      {"summaries", summaries},
      {"best", best},
      {"two_towers", two_towers},
      {"profile", profile},
      {"exporters", exporters}};
  std::ranges::move(warm_starts(), std::back_inserter(out));
  std::ranges::move(uses(), std::back_inserter(out));
  return out;
}

}  // namespace belfry
