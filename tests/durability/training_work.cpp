#include <algorithm>
#include <filesystem>
#include <memory>

#include "../framework/train/training_testing.h"
#include "../hooks/tensorboard/events.h"
#include "belfry/framework/base/file.h"
#include "belfry/hooks/hooks.h"
#include "file_work.h"

namespace belfry {
namespace {

using MakeHooks = std::function<Hooks(Estimator&)>;

constexpr std::int64_t last_step = 3;

/// All checkpoints of a folder are whole, those of its own folders too.
std::string fault_of_checkpoints(const std::string& folder) {
  for (const std::string& dir : {folder, folder + "/best"})
    for (const CheckpointFile& file : list_checkpoints(dir)) {
      Checkpoint read = load_checkpoint(file.path);
      if (read.step != file.step
          || read.variables.at("w").item() != 8 - 0.25 * static_cast<double>(read.step))
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

/// Trains from the newest checkpoint to the last step, and each time one step further. In `folder`
/// there are `before` steps.
FileWork train(const std::string& folder, const RunConfig& config, std::int64_t before,
               const MakeHooks& hooks, const FaultOfHooks& fault_of_hooks) {
  InputFn input = over_and_over({one_point()});
  EstimatorOptions options{.model_fn = falling, .model_dir = folder, .run = config};
  if (before > 0) Estimator(options).train(input, {.max_steps = before});
  auto estimator = std::make_shared<std::unique_ptr<Estimator>>();
  auto beginning = std::make_shared<Beginning>();
  auto last = std::make_shared<std::int64_t>(last_step - 1);
  auto run = [=] {
    ++*last;
    if (!*estimator) *estimator = std::make_unique<Estimator>(options);
    Hooks all = hooks(**estimator);
    all.push_back(beginning);
    (*estimator)->train(input, {.max_steps = *last, .hooks = all});
  };
  auto fault = [=](bool done) -> std::string {
    if (std::string found = fault_of_checkpoints(folder); !found.empty()) return found;
    auto all = saved_steps(folder);
    if (done && (all.empty() || all.back() != *last)) return "the last checkpoint is missing";
    if (before > 0 && (all.empty() || all.back() < before)) return "steps are lost";
    if (done && beginning->step < before) return "it began anew";
    return fault_of_hooks(done ? *last : 0);
  };
  return {run, fault};
}

std::string right(std::int64_t) { return {}; }

Hooks no_hooks(Estimator&) { return {}; }

FileWork checkpoints(const std::string& folder, bool in_background) {
  RunConfig config = saving_every(1, 2);
  config.save_in_background = in_background;
  return train(folder, config, 0, no_hooks, right);
}

FileWork resumption(const std::string& folder) {
  return train(folder, saving_every(1, 2), 2, no_hooks, right);
}

FileWork report(const std::string& folder) {
  auto hooks = [](Estimator&) { return Hooks{hooks::report({.every = Steps(1)})}; };
  return train(folder, saving_every(3), 0, hooks, [=](std::int64_t last) -> std::string {
    std::string path = folder + "/report.html";
    if (last == 0 && !std::filesystem::exists(path)) return {};
    std::string page = read_file(path);
    bool whole = page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n");
    return whole ? "" : "the page is not whole";
  });
}

FileWork summaries(const std::string& folder) {
  auto hooks = [](Estimator&) {
    return Hooks{
        hooks::summaries({.every = Steps(1), .graph = false, .flush = std::chrono::hours(1)})};
  };
  return train(folder, saving_every(3), 0, hooks, [=](std::int64_t last) -> std::string {
    auto files = hooks::event_files(folder);
    if (files.empty()) return last > 0 ? "there is no event file" : "";
    auto words = hooks::words_of(files.back());
    std::string wanted = concat(last, " loss=", 8 - 0.25 * static_cast<double>(last - 1));
    bool there = std::ranges::find(words, wanted) != words.end();
    return last == 0 || there ? "" : "events are missing: " + join(words, ", ");
  });
}

FileWork best(const std::string& folder) {
  auto hooks = [](Estimator& estimator) {
    return Hooks{hooks::validate(
        estimator, {.input_fn = once({one_point()}), .every = Steps(1), .keep_best = 1})};
  };
  return train(folder, saving_every(1, 2), 2, hooks, [=](std::int64_t last) -> std::string {
    auto best = hooks::best_checkpoint(folder);
    if (last == 0) return {};
    return best && load_checkpoint(*best).step == last ? "" : "the best is another";
  });
}

}  // namespace

std::vector<FileScenario> training_scenarios() {
  return {{"checkpoints", [](auto& folder) { return checkpoints(folder, false); }},
          {"checkpoints_in_the_background", [](auto& folder) { return checkpoints(folder, true); }},
          {"resumption", resumption},
          {"report", report},
          {"summaries", summaries},
          {"best", best}};
}

}  // namespace belfry
