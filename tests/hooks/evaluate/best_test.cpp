// The stopping of validate_test.cpp is best.cpp's, too.
#include "belfry/hooks/evaluate/best.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "belfry/framework/base/file.h"
#include "validate_testing.h"

namespace belfry::hooks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

TEST_F(ValidateTest, TheBestOutlivesTheCheckpointsOfTraining) {
  RunConfig run = saving_every(1, 1);
  Estimator estimator(options(run));
  train(estimator, {.every = Steps(1), .metric = "distance", .keep_best = 1}, 8);
  EXPECT_THAT(saved_steps(dir.path()), ElementsAre(8));
  EXPECT_THAT(saved_steps(dir.path() + "/best"), ElementsAre(4));
}

// As a kill between the list and the removal of what gave way, with nothing better to come.
TEST_F(ValidateTest, WhatAKillKeptFromBeingRemovedIsRemoved) {
  EvalSpec o{.every = Steps(1), .metric = "distance", .keep_best = 1};
  Estimator estimator(options());
  train(estimator, o, 5);
  ASSERT_THAT(saved_steps(dir.path() + "/best"), ElementsAre(4));
  std::filesystem::copy(checkpoint_path(dir.path() + "/best", 4),
                        checkpoint_path(dir.path() + "/best", 3));
  train(estimator, o, 6);
  EXPECT_THAT(saved_steps(dir.path() + "/best"), ElementsAre(4));
}

TEST_F(ValidateTest, WhatAKilledCopyLeftIsRemoved) {
  create_folders(dir.path() + "/best");
  write_file_atomically(dir.path() + "/best/.checkpoint-1.safetensors.tmp.99999999.0",
                        "half of it");
  Estimator estimator(options());
  train(estimator, {.every = Steps(1), .keep_best = 1}, 2);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path() + "/best"))
    names.push_back(entry.path().filename());
  EXPECT_THAT(names, UnorderedElementsAre("best.json", "checkpoint-2.safetensors"));
}

TEST_F(ValidateTest, KeepsTheBestFew) {
  EvalSpec o{.every = Steps(1), .metric = "distance", .keep_best = 2};
  auto run = [&](std::int64_t max_steps) {
    Estimator estimator(options(saving_every(1)));
    train(estimator, o, max_steps);
    return saved_steps(dir.path() + "/best");
  };
  EXPECT_THAT(run(1), ElementsAre(1));
  EXPECT_THAT(run(3), ElementsAre(2, 3));
  EXPECT_THAT(run(6), ElementsAre(3, 4));  // 0.25 at step 5 is no better than at step 3
  EXPECT_EQ(best_checkpoint(dir.path()), checkpoint_path(dir.path() + "/best", 4));
  auto list = nlohmann::json::parse(read_file(dir / "best/best.json"));
  EXPECT_EQ(list, (nlohmann::json{
                      {"metric", "distance"},
                      {"better", "lower"},
                      {"kept",
                       {{{"file", "checkpoint-4.safetensors"}, {"step", 4}, {"value", 0.0}},
                        {{"file", "checkpoint-3.safetensors"}, {"step", 3}, {"value", 0.25}}}}}));
  o.early_stopping.min_change = 0.5;
  o.better = Better::lower;
  EXPECT_THAT(run(7), ElementsAre(3, 4));
  o.keep_best = 1;
  EXPECT_THAT(run(8), ElementsAre(3, 4));  // until there is a better one
}

// As a training that was killed after it wrote a checkpoint there, or before it removed one.
TEST_F(ValidateTest, CheckpointsThatAreNotInTheListGo) {
  EvalSpec o{.every = Steps(1), .metric = "distance", .keep_best = 1};
  Estimator estimator(options(saving_every(1)));
  train(estimator, o, 2);
  std::filesystem::copy_file(checkpoint_path(dir / "best", 2), checkpoint_path(dir / "best", 1));
  write_file_atomically(dir / "best/notes.txt", "mine");
  train(estimator, o, 4);
  EXPECT_THAT(saved_steps(dir / "best"), ElementsAre(4));
  EXPECT_EQ(read_file(dir / "best/notes.txt"), "mine");
}

// Training goes on from a checkpoint that is older than the best, and gets worse this time.
TEST_F(ValidateTest, WhatIsKeptGivesWayToBetterOnesAloneWhateverTheCheckpointKnows) {
  EvalSpec o{.every = Steps(1), .metric = "distance", .keep_best = 1};
  auto run = [&](std::int64_t max_steps) {
    Estimator estimator(options(saving_every(1)));
    train(estimator, o, max_steps);
  };
  run(4);
  for (std::int64_t step : {3, 4}) std::filesystem::remove(checkpoint_path(dir.path(), step));
  input = over_and_over({one_point(-1)});  // w rises from 7.5 again
  run(6);
  EXPECT_THAT(saved_steps(dir / "best"), ElementsAre(4));
  EXPECT_EQ(load_checkpoint(*best_checkpoint(dir.path())).variables.at("w").item(), 7);
}

// Training never evaluates step 4 again.
TEST_F(ValidateTest, ABestCheckpointThatWasWrittenAndNotListedIsKeptAfterARestart) {
  EvalSpec o{.every = Steps(1), .metric = "distance", .keep_best = 1};
  kill_at(4, o);
  ASSERT_EQ(saved_steps(dir.path()).back(), 4);
  EXPECT_THAT(saved_steps(dir / "best"), ElementsAre(3));
  Estimator estimator(options(saving_every(1, 1)));
  train(estimator, o, 8);
  EXPECT_EQ(best_checkpoint(dir.path()), checkpoint_path(dir / "best", 4));
  EXPECT_EQ(read_best_list(dir / "best").value().front().value, 0);
}

// The same, with one that is not the best but among those to keep: 0.25 at step 5.
TEST_F(ValidateTest, SoIsOneThatIsAmongTheBestFew) {
  EvalSpec o{.every = Steps(1), .metric = "distance", .keep_best = 3};
  kill_at(5, o);
  EXPECT_THAT(saved_steps(dir / "best"), ElementsAre(2, 3, 4));
  Estimator estimator(options(saving_every(100)));
  train(estimator, o, 8);
  EXPECT_THAT(saved_steps(dir / "best"), ElementsAre(3, 4, 5));
}

TEST_F(ValidateTest, KnowsTheBestOfAFolderWithoutAList) {
  EvalSpec o{.every = Steps(1), .metric = "distance", .keep_best = 1};
  Estimator estimator(options());
  train(estimator, o, 5);
  std::filesystem::remove(dir / "best/best.json");
  EXPECT_EQ(best_checkpoint(dir.path()), checkpoint_path(dir / "best", 4));
  train(estimator, o, 7);
  EXPECT_THAT(saved_steps(dir / "best"), ElementsAre(4));
}

TEST_F(ValidateTest, AListOfAnotherMetricOrNoListIsAnError) {
  Estimator estimator(options());
  train(estimator, {.every = Steps(1), .metric = "distance", .keep_best = 1}, 2);
  auto refused = [&](EvalSpec o) { return error_of([&] { train(estimator, o, 4); }); };
  EXPECT_THAT(refused({.every = Steps(1), .keep_best = 1}),
              HasSubstr("/best` keeps the best by distance (lower is better), not by "
                        "loss (lower is better); move it away to begin anew"));
  for (const char* bad :
       {"", "[]", R"({"metric": "distance", "better": "lower"})",
        R"({"metric": "distance", "better": "lower", "kept": [{"file": "x", "step": 1}]})",
        R"({"metric": "distance", "better": "lower",
            "kept": [{"file": "../x", "step": 1, "value": 0}]})"}) {
    write_file_atomically(dir / "best/best.json", std::string_view(bad));
    EXPECT_THAT(refused({.every = Steps(1), .metric = "distance", .keep_best = 1}),
                HasSubstr("is no list of the best; move its folder away"));
    EXPECT_THAT(error_of([&] { best_checkpoint(dir.path()); }), HasSubstr("is no list"));
  }
}

}  // namespace
}  // namespace belfry::hooks
