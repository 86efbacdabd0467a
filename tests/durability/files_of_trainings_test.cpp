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

/// Trains to a step with all hooks that write files.
void train(const std::string& folder, std::int64_t to) {
  Estimator estimator(
      {.model_fn = passing_seven, .model_dir = folder + "/model", .run = saving_every(1, 1)});
  Exporters exporters{latest_exporter({.model = of_x()}),
                      best_exporter({.model = of_x(), .keep = 1})};
  EvalSpec spec{
      .input_fn = once({one_point()}), .every = Steps(1), .keep_best = 1, .exporters = exporters};
  Hooks hooks{hooks::report({.every = Steps(1)}), hooks::summaries({.every = Steps(1)})};
  train_and_evaluate(estimator, {over_and_over({one_point()}), {.max_steps = to, .hooks = hooks}},
                     {spec});
}

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

void expect_beginnings(const std::map<std::string, Words>& of, const std::string& folder) {
  for (const auto& [name, words] : events_below(folder)) {
    ASSERT_TRUE(of.contains(name)) << name;
    ASSERT_LE(words.size(), of.at(name).size());
    EXPECT_TRUE(std::ranges::equal(words, std::span(of.at(name)).first(words.size()))) << name;
  }
}

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
std::int64_t best_step(const std::string& model_dir) {
  auto best = hooks::best_checkpoint(model_dir);
  if (!best) return 0;
  Checkpoint read = load_checkpoint(*best);
  EXPECT_EQ(read.variables.at("w").item(), 8 - 0.25 * static_cast<double>(read.step));
  return read.step;
}

void expect_whole(const std::string& folder, std::int64_t at_least, bool report) {
  std::string dir = folder + "/model";
  for (const char* name : {"/export/latest", "/export/best"})
    EXPECT_GE(newest_step(dir + name), static_cast<double>(at_least)) << name;
  EXPECT_GE(best_step(dir), at_least);
  if (!report && !fs::exists(dir + "/report.html")) return;
  std::string page = read_file(dir + "/report.html");
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
}

TEST(FilesOfATraining, AreWholeAfterAPowerFailureAndItGoesOn) {
  CapturedLog log;
  std::map<std::string, Words> events;
  DiskLog changes = log_of([](auto&) {},
                           [&](const std::string& folder) {
                             train(folder, last_step);
                             events = events_below(folder);
                           });
  EXPECT_EQ(events.size(), 2u);
  std::int64_t states = 0;
  for_each_power_failure(changes, [&](const PowerFailure& failure) {
    SCOPED_TRACE(failure.story);
    bool over = failure.marks > 0;
    expect_whole(failure.folder, over ? last_step : 0, over);
    expect_beginnings(events, failure.folder);
    if (++states % 16 != 0) return;  // training takes longer than all else here
    train(failure.folder, last_step + 1);
    expect_whole(failure.folder, last_step + 1, true);
  });
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
  const data::Values bad{1, 4, 9, 16, 25, 36};
  auto path_in = [](const std::string& folder) { return folder + "/bad.tsv"; };
  auto run = [&](const std::string& folder) {
    data::OnErrorOptions options{
        .action = data::OnError::skip, .max_count = 6, .quarantine = path_in(folder)};
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
