// The files that are left of a training, of exports and of lists of bad elements after a power
// failure: each is whole, not there, or refused by an error that names it, and work goes on.

#include <algorithm>
#include <filesystem>
#include <map>
#include <span>

#include "../data/pipeline.h"
#include "../hooks/evaluate/evaluation_testing.h"
#include "../hooks/tensorboard/events.h"
#include "belfry/data/data.h"
#include "belfry/framework/base/file.h"
#include "belfry/hooks/hooks.h"
#include "power_failure.h"
#include "trials.h"

namespace belfry {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

const std::string no_error = "no error";  // from error_of()
constexpr std::int64_t last_step = 2;

/// The step of the newest export; 0: there is none.
double newest_step(const std::string& exports) {
  double out = 0;
  for (const std::string& path : list_exports(exports)) {
    out = exported_step(path);
    EXPECT_EQ(out, std::round(out)) << path;
  }
  return out;
}

/// The step of the best checkpoint; 0: there is none.
double best_step(const std::string& model_dir) {
  auto best = hooks::best_checkpoint(model_dir);
  if (!best) return 0;
  Checkpoint read = load_checkpoint(*best);
  EXPECT_EQ(read.variables.at("w").item(), 8 - 0.25 * static_cast<double>(read.step));
  return static_cast<double>(read.step);
}

/// Any step, if the page is whole; 0: there is none.
double report_step(const std::string& model_dir) {
  std::string path = model_dir + "/report.html";
  if (!fs::exists(path)) return 0;
  std::string page = read_file(path);
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
  return INFINITY;
}

/// Files that come with a training: who writes them, and of which step the newest are in a
/// model_dir.
struct FilesOfTraining {
  std::string name;
  std::function<void(EvalSpec&, Hooks&)> ask;
  std::function<double(const std::string& model_dir)> newest;
};
void PrintTo(const FilesOfTraining& files, std::ostream* to) { *to << files.name; }

std::vector<FilesOfTraining> files_of_training() {
  auto exporting = [](Exporters exporters) {
    return [=](EvalSpec& spec, Hooks&) { spec.exporters = exporters; };
  };
  auto newest_of = [](const std::string& name) {
    return [=](const std::string& dir) { return newest_step(dir + "/export/" + name); };
  };
  return {
      {"report", [](auto&, auto& hooks) { hooks = {hooks::report({.every = Steps(1)})}; },
       report_step},
      {"best_checkpoints", [](auto& spec, auto&) { spec.keep_best = 1; }, best_step},
      {"latest_exports", exporting({latest_exporter({.model = of_x(), .keep = {.newest = 1}})}),
       newest_of("latest")},
      {"best_exports", exporting({best_exporter({.model = of_x(), .keep = 1})}), newest_of("best")},
      {"final_exports", exporting({final_exporter({.model = of_x()})}), newest_of("final")}};
}

void train(const std::string& folder, std::int64_t to,
           const std::function<void(EvalSpec&, Hooks&)>& ask) {
  Estimator estimator(
      {.model_fn = passing_seven, .model_dir = folder + "/model", .run = saving_every(100, 1)});
  EvalSpec spec{.input_fn = once({one_point()}), .every = Steps(1)};
  Hooks hooks;
  ask(spec, hooks);
  train_and_evaluate(estimator, {over_and_over({one_point()}), {.max_steps = to, .hooks = hooks}},
                     {spec});
}

class TrainingFiles : public ::testing::TestWithParam<FilesOfTraining> {
 protected:
  CapturedLog log;
};

TEST_P(TrainingFiles, AreWholeAfterAPowerFailureAndTrainingGoesOn) {
  auto newest = [](auto& folder) { return GetParam().newest(folder + "/model"); };
  DiskLog changes =
      log_of([](auto&) {}, [](auto& folder) { train(folder, last_step, GetParam().ask); });
  std::int64_t states = 0;
  for_each_power_failure(changes, [&](const PowerFailure& failure) {
    SCOPED_TRACE(failure.story);
    EXPECT_GE(newest(failure.folder), failure.marks > 0 ? last_step : 0);
    if (++states % 32 != 0) return;  // training takes longer than all else here
    train(failure.folder, last_step + 1, GetParam().ask);
    EXPECT_GE(newest(failure.folder), last_step + 1);
  });
}

INSTANTIATE_TEST_SUITE_P(Kinds, TrainingFiles, ::testing::ValuesIn(files_of_training()),
                         [](const auto& info) { return info.param.name; });

/// The words of the event files in the model's folders, by the file's name; not of those that are
/// refused.
std::map<std::string, Words> events_below(const std::string& folder) {
  std::map<std::string, Words> out;
  for (const std::string& dir : {folder + "/model", folder + "/model/eval"}) {
    if (!fs::is_directory(dir)) continue;
    for (const std::string& path : hooks::event_files(dir)) {
      std::string refusal =
          error_of([&] { out[fs::path(path).filename()] = hooks::words_of(path); });
      if (refusal == no_error) continue;
      EXPECT_THAT(refusal, HasSubstr(path));
      out.erase(fs::path(path).filename());
    }
  }
  return out;
}

/// Nobody promises how much of them is durable: they have a beginning of what was written.
TEST(EventFiles, AreReadOrRefusedAfterAPowerFailure) {
  CapturedLog log;
  auto ask = [](EvalSpec&, Hooks& hooks) {
    hooks = {hooks::summaries({.every = Steps(1), .histograms = Steps(1)})};
  };
  std::map<std::string, Words> all;
  auto write = [&](const std::string& folder) {
    train(folder, last_step, ask);
    all = events_below(folder);
  };
  for_each_power_failure(log_of([](auto&) {}, write), [&](const PowerFailure& failure) {
    SCOPED_TRACE(failure.story);
    for (const auto& [name, words] : events_below(failure.folder)) {
      ASSERT_TRUE(all.contains(name) && words.size() <= all.at(name).size()) << name;
      EXPECT_TRUE(std::ranges::equal(words, std::span(all.at(name)).first(words.size()))) << name;
    }
  });
  EXPECT_EQ(all.size(), 2u);
}

TEST(Exports, AreWholeOrAbsentAfterAPowerFailure) {
  auto write = [](const std::string& folder) {
    ExportOptions options = of_x();
    options.model_fn = passing_seven;
    options.checkpoint = folder + "/of_step_12.safetensors";
    write_checkpoint(options.checkpoint, {.variables = {{"w", Array::scalar(5.f)}}, .step = 12});
    export_model(folder + "/exports", options);
  };
  for_each_power_failure(log_of(write, write), [&](const PowerFailure& failure) {
    SCOPED_TRACE(failure.story);
    const std::string dir = failure.folder + "/exports";
    auto all = list_exports(dir);
    EXPECT_THAT(all.size(), AnyOf(2u, failure.marks > 0 ? 2u : 1u));
    for (const std::string& path : all) EXPECT_EQ(exported_step(path), 12) << path;
    write(failure.folder);
    EXPECT_EQ(list_exports(dir).size(), all.size() + 1);
  });
}

TEST(Quarantine, IsReadOrRefusedAfterAPowerFailure) {
  CapturedLog log;
  const data::Values bad = data::counting(5, 35);  // more than a block of lines
  auto path_in = [](const std::string& folder) { return folder + "/bad.tsv"; };
  auto run = [&](const std::string& folder) {
    data::OnErrorOptions options{
        .action = data::OnError::skip, .max_count = 30, .quarantine = path_in(folder)};
    (void)data::values(data::range(40) | data::failing_at(bad) | data::on_error(options));
  };
  std::string lines;
  auto first = [&](const std::string& folder) {
    run(folder);
    lines = read_file(path_in(folder));
  };
  std::int64_t read = 0, refused = 0;
  for_each_power_failure(log_of(first, run), [&](const PowerFailure& failure) {
    SCOPED_TRACE(failure.story);
    const std::string path = path_in(failure.folder);
    data::Values found;
    std::string refusal = error_of([&] { found = data::read_quarantine(path); });
    ++(refusal == no_error ? read : refused);
    EXPECT_THAT(refusal, AnyOf(no_error, HasSubstr(path + ": line ")));
    EXPECT_TRUE(std::ranges::includes(bad, found));
    run(failure.folder);
    EXPECT_TRUE(read_file(path).ends_with(lines));
    if (refusal == no_error) {
      EXPECT_EQ(data::read_quarantine(path), bad);
    }
  });
  EXPECT_GT(read, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace belfry
