#include "belfry/hooks/evaluate/exporters.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "belfry/framework/base/file.h"
#include "belfry/hooks/updates.h"
#include "evaluation_testing.h"

namespace belfry {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

struct ExportersTest : EvaluationTest {
  EvalSpec each_step(std::shared_ptr<Exporter> exporter) const {
    return {.name = "t", .input_fn = test, .every = Steps(1), .exporters = {std::move(exporter)}};
  }
  /// The steps whose w the exports hold, oldest first.
  std::vector<double> exported(const std::string& name) const {
    std::vector<double> steps;
    for (const std::string& path : list_exports(dir / ("export/" + name)))
      steps.push_back(exported_step(path));
    return steps;
  }
  std::vector<std::int64_t> steps_of(const TrainAndEvaluateResult& result) const {
    std::vector<std::int64_t> steps;
    for (const ExportWritten& e : result.exports) steps.push_back(e.step);
    return steps;
  }
};

TEST_F(ExportersTest, TheLatestKeepsTheNewest) {
  auto result = train({each_step(latest_exporter({.model = of_x(), .keep = {.newest = 2}}))}, 4);
  EXPECT_THAT(steps_of(result), ElementsAre(3, 4));  // those that are left
  EXPECT_THAT(exported("latest"), ElementsAre(3, 4));
  EXPECT_EQ(result.exports[1].path, newest_export(dir / "export/latest"));
  EXPECT_EQ(result.exports[1].evaluation, "t");
  EXPECT_EQ(result.exports[1].exporter, "latest");
  train({each_step(latest_exporter({.model = of_x(), .keep = {.newest = 0}}))}, 8);
  EXPECT_THAT(exported("latest"), ElementsAre(3, 4, 5, 6, 7, 8));
  // A training that has nothing to do exports nothing again.
  EXPECT_THAT(
      train({each_step(latest_exporter({.model = of_x(), .keep = {.newest = 0}}))}, 8).exports,
      IsEmpty());
  EXPECT_THAT(exported("latest"), ElementsAre(3, 4, 5, 6, 7, 8));
}

TEST_F(ExportersTest, TheBestNeverGivesWayToAWorseOne) {
  auto best = [] {
    return best_exporter({.name = "top", .model = of_x(), .metric = "distance", .keep = 2});
  };
  EXPECT_THAT(steps_of(train({each_step(best())}, 2, saving_every(1))), ElementsAre(1, 2));
  EXPECT_THAT(steps_of(train({each_step(best())}, 6, saving_every(1))), ElementsAre(3, 4));
  EXPECT_THAT(exported("top"), ElementsAre(3, 4));
  auto list = nlohmann::json::parse(read_file(dir / "export/top/best.json"));
  EXPECT_EQ(list["metric"], "distance");
  EXPECT_EQ(list["better"], "lower");
  ASSERT_EQ(list["kept"].size(), 2u);
  EXPECT_EQ(list["kept"][0]["file"],
            fs::path(newest_export(dir / "export/top")).filename().string());
  EXPECT_EQ(list["kept"][0]["step"], 4);
  EXPECT_EQ(list["kept"][0]["value"], 0);
  EXPECT_EQ(list["kept"][1]["value"], 0.25);
  // Back to step 1, which knows nothing of those that came later, and to nothing at all.
  for (std::int64_t step : {2, 3, 4, 5, 6}) fs::remove(checkpoint_path(dir.path(), step));
  EXPECT_THAT(steps_of(train({each_step(best())}, 6, saving_every(1))), IsEmpty());
  for (const CheckpointFile& file : list_checkpoints(dir.path())) fs::remove(file.path);
  EXPECT_THAT(steps_of(train({each_step(best())}, 5, saving_every(1))), IsEmpty());
  EXPECT_THAT(exported("top"), ElementsAre(3, 4));
}

// As a training that was killed after it wrote an export, or before it removed one.
TEST_F(ExportersTest, ExportsThatAreNotInTheListOfTheBestGo) {
  auto best = [](int keep) {
    return best_exporter({.model = of_x(), .metric = "distance", .keep = keep});
  };
  train({each_step(best(1))}, 2);
  std::string folder = dir / "export/best";
  fs::copy(newest_export(folder), folder + "/1000000000", fs::copy_options::recursive);
  train({each_step(best(0))}, 3);  // all are kept
  EXPECT_THAT(exported("best"), ElementsAre(2, 2, 3));
  train({each_step(best(1))}, 4);
  EXPECT_THAT(exported("best"), ElementsAre(4));
}

// By a kill at any moment of a removal no half of an export is left under its name.
TEST_F(ExportersTest, AnExportLosesItsNameBeforeItsFiles) {
  auto write = [&] {
    return write_export_folder(dir.path(), [](const std::string& path) {
      write_file_atomically(path + "/graph.json", "{}");
    });
  };
  std::string old = write(), kept = write();
  // The events, in their order: to the names in the folder, and to the files of the export.
  int events = ::inotify_init1(IN_NONBLOCK);
  int names = ::inotify_add_watch(events, dir.path().c_str(), IN_MOVED_FROM | IN_DELETE);
  ::inotify_add_watch(events, old.c_str(), IN_DELETE);
  remove_old_exports(dir.path(), {.newest = 1});
  alignas(inotify_event) char bytes[4096];
  ASSERT_GT(::read(events, bytes, sizeof bytes), 0);
  ::close(events);
  const auto* first = reinterpret_cast<const inotify_event*>(bytes);
  EXPECT_EQ(first->wd, names);
  EXPECT_TRUE(first->mask & IN_MOVED_FROM);
  EXPECT_EQ(fs::path(old).filename().string(), first->name);
  EXPECT_THAT(dir.names(), ElementsAre(fs::path(kept).filename().string()));
  // A removal that a kill cut short is finished by the next export.
  create_folders(dir / ".export.tmp.removed.1000000000/assets");
  write();
  EXPECT_EQ(dir.names().size(), 2u);
}

// The average begins with the w of step 1; after step 2 it is between the two.
TEST_F(ExportersTest, WhatIsEvaluatedWithAveragesIsExportedWithThem) {
  EvalSpec spec = each_step(latest_exporter({.model = of_x()}));
  spec.averaged = true;
  Estimator estimator(options());
  train_and_evaluate(estimator,
                     {input, {.max_steps = 2, .hooks = {hooks::moving_average({.decay = 0.5})}}},
                     {spec});
  EXPECT_THAT(exported("latest"), ElementsAre(1, 1.5));
}

TEST_F(ExportersTest, HigherMayBeBetter) {
  auto best =
      best_exporter({.model = of_x(), .metric = "distance", .better = Better::higher, .keep = 0});
  // 0.75 at step 1; 1 at step 8.
  EXPECT_THAT(steps_of(train({each_step(best)}, 8)), ElementsAre(1, 8));
  EXPECT_THAT(error_of([&] { train({each_step(best_exporter({.model = of_x()}))}, 9); }),
              HasSubstr("keeps the best by distance (higher is better), not by loss (lower"));
}

TEST_F(ExportersTest, WhatIsNotFiniteIsNotTheBest) {
  input = over_and_over({one_point(0)});
  test = once({one_point(std::numeric_limits<float>::quiet_NaN())});
  auto best = best_exporter({.model = of_x()});
  EXPECT_THAT(train({each_step(best)}, 2).exports, IsEmpty());
}

TEST_F(ExportersTest, TheFinalOneComesAtTheEnd) {
  EvalSpec spec = each_step(final_exporter({.model = of_x()}));
  spec.metric = "distance";
  spec.early_stopping.patience = 2;
  auto result = train({spec}, 100);
  EXPECT_THAT(steps_of(result), ElementsAre(6));
  EXPECT_THAT(exported("final"), ElementsAre(6));
  train({spec}, 6);
  EXPECT_THAT(exported("final"), ElementsAre(6));
}

TEST_F(ExportersTest, OldExportsGoAndOtherThingsStay) {
  for (std::int64_t time : {1000000000, 1000000050, 1000000100, 1000000250, 1000000260, 1000000300})
    create_folders(dir / text(time)), write_file_atomically(dir / text(time) + "/graph.json", "{}");
  for (const char* other : {"1000000001", "100000000", "1000000001x"}) create_folders(dir / other);
  write_file_atomically(dir / "100000000/graph.json", "{}");
  write_file_atomically(dir / "1000000002", "no folder");
  auto left = [&] {
    std::vector<std::string> names;
    for (const std::string& path : list_exports(dir.path()))
      names.push_back(path.substr(path.size() - 3));
    return names;
  };
  remove_old_exports(dir.path(), {.newest = 0});
  remove_old_exports(dir.path(), {.newest = 6});
  EXPECT_EQ(left().size(), 6u);
  remove_old_exports(dir.path(), {.newest = 1, .every = std::chrono::seconds(100)});
  EXPECT_THAT(left(), ElementsAre("000", "100", "250", "300"));
  remove_old_exports(dir.path(), {.newest = 1, .every = std::chrono::seconds(100)});
  EXPECT_THAT(left(), ElementsAre("000", "100", "250", "300"));
  remove_old_exports(dir.path(), {.newest = 2});
  EXPECT_THAT(left(), ElementsAre("250", "300"));
  EXPECT_EQ(dir.names().size(), 2u + 4u);
  remove_old_exports(dir / "nowhere", {.newest = 1});
}

TEST_F(ExportersTest, OldExportsStayByTheirSteps) {
  for (int i = 1; i <= 8; ++i) {
    std::string folder = dir / text(1000000000 + i);
    create_folders(folder);
    write_file_atomically(folder + "/graph.json", concat(R"({"step": )", 10 * i, "}"));
  }
  auto left = [&] {
    std::string last_digits;
    for (const std::string& path : list_exports(dir.path())) last_digits += path.back();
    return last_digits;
  };
  remove_old_exports(dir.path(), {.newest = 2, .every = Steps(30), .multiples_of = Steps(40)});
  EXPECT_EQ(left(), "34678");  // the last of 1..30 and of 31..60; 40; the newest
  write_file_atomically(dir / "1000000003/graph.json", R"({"step": "three"})");
  remove_old_exports(dir.path(), {.newest = 1, .multiples_of = Steps(20)});
  EXPECT_EQ(left(), "3468");  // the damaged one beside 40, 60 and the newest
  remove_old_exports(dir.path(), {.newest = 1});
  EXPECT_EQ(left(), "8");
  EXPECT_EQ(error_of([&] { remove_old_exports(dir.path(), {.newest = -1}); }),
            "remove_old_exports: keep.newest must be at least 0, got -1");
  EXPECT_THAT(error_of([&] { remove_old_exports(dir.path(), {.every = Steps(0)}); }),
              HasSubstr("remove_old_exports: keep.every must be above 0, got 0 steps"));
  EXPECT_EQ(left(), "8");
}

TEST_F(ExportersTest, WhatMakesNoSenseIsRefused) {
  auto refused = [&](LatestExporterOptions o) { return error_of([&] { latest_exporter(o); }); };
  EXPECT_THAT(refused({}), HasSubstr("latest_exporter `latest`: there are no signatures"));
  EXPECT_THAT(refused({.name = "a/b", .model = of_x()}), HasSubstr("`a/b` is no name"));
  EXPECT_THAT(refused({.name = "", .model = of_x()}), HasSubstr("`` is no name"));
  EXPECT_EQ(refused({.model = of_x(), .keep = {.newest = -1}}),
            "latest_exporter `latest`: keep.newest must be at least 0, got -1");
  EXPECT_EQ(error_of([&] { best_exporter({.model = of_x(), .keep = -1}); }),
            "best_exporter `best`: keep must be at least 0, got -1");
  ExportOptions model = of_x();
  model.checkpoint = "x";
  EXPECT_THAT(error_of([&] { best_exporter({.model = model}); }),
              HasSubstr("not the checkpoint x"));
  EXPECT_THAT(error_of([&] { final_exporter({.name = ".."}); }), HasSubstr("`..` is no name"));
}

TEST_F(ExportersTest, BeginBeforeAllElse) {
  struct Notes final : Exporter {
    explicit Notes(std::string& c) : calls(c) {}
    std::string name() const override { return "notes"; }
    void begin(Estimator& estimator, const std::string& folder) override {
      EXPECT_EQ(folder, estimator.model_dir() + "/export/notes");
      calls += "begin ";
    }
    std::optional<std::string> after_evaluation(const EvaluatedState&) override {
      calls += "after ";
      return {};
    }
    std::optional<std::string> at_end(const EvaluatedState&) override {
      calls += "end ";
      return {};
    }
    std::string& calls;
  };
  std::string calls;
  for (int i = 0; i < 2; ++i) train({each_step(std::make_shared<Notes>(calls))}, 2);
  EXPECT_EQ(calls, "begin after after end begin after end ");  // there is nothing more to do
}

TEST_F(ExportersTest, WhatCannotBeExportedIsToldBeforeTheFirstStep) {
  struct Starts final : Hook {
    void before_step(StepRequest&) override { ADD_FAILURE() << "a step begins"; }
  };
  ExportOptions other = of_x();
  other.signatures["predict"].outputs = {"z"};
  auto refused = [&](std::shared_ptr<Exporter> exporter) {
    Estimator estimator(options());
    return error_of([&] {
      train_and_evaluate(estimator,
                         {input, {.max_steps = 4, .hooks = {std::make_shared<Starts>()}}},
                         {each_step(exporter)});
    });
  };
  for (const auto& exporter : {latest_exporter({.name = "e", .model = other}),
                               best_exporter({.name = "e", .model = other}),
                               final_exporter({.name = "e", .model = other})})
    EXPECT_THAT(refused(exporter),
                AllOf(HasSubstr("there is no prediction `z`; the model has y (while building"),
                      HasSubstr("(signature predict) (in exporter `e`) (in evaluation `t`)")));
  fs::create_directories(dir / "export/best");
  write_file_atomically(dir / "export/best/best.json",
                        std::string_view(R"({"metric": "x", "better": "lower", "kept": []})"));
  EXPECT_THAT(refused(best_exporter({.model = of_x()})),
              HasSubstr("keeps the best by x (lower is better), not by loss"));
}

}  // namespace
}  // namespace belfry
