#include "belfry/framework/train/checkpoint.h"

#include "belfry/data/data.h"
#include "belfry/framework/base/file.h"
#include "training_testing.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Checkpoint example(std::int64_t step) {
  Checkpoint out;
  out.variables = {{"w", Array::of({1.f, 2.f})}};
  out.step = step;
  out.seed = 0xFFFFFFFFFFFFFFFF;
  out.input = "at {7}";
  out.hooks = {{"best", "{\"loss\": 1}"}, {"\u00e9", "\n"}};
  return out;
}

void damage(const std::string& path) {
  std::string bytes = read_file(path);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_file_atomically(path, bytes);
}

TEST(Checkpoint, HoldsEverything) {
  TemporaryFolder dir;
  std::string path = save_checkpoint(dir.path(), example(12), {.newest = 5});
  EXPECT_EQ(path, dir / "checkpoint-12.safetensors");
  EXPECT_EQ(path, checkpoint_path(dir.path(), 12));
  Checkpoint read = load_checkpoint(path), wrote = example(12);
  EXPECT_TRUE(identical(read.variables.at("w"), wrote.variables.at("w")));
  EXPECT_EQ(read.variables.size(), 1u);
  EXPECT_EQ(read.step, wrote.step);
  EXPECT_EQ(read.seed, wrote.seed);
  EXPECT_EQ(read.input, wrote.input);
  EXPECT_EQ(read.hooks, wrote.hooks);
}

TEST(Checkpoint, AreListedByStep) {
  TemporaryFolder dir;
  for (std::int64_t step : {100, 9, 20}) save_checkpoint(dir.path(), example(step), {.newest = 0});
  for (const char* other :
       {"checkpoint-.safetensors", "checkpoint-x.safetensors", "checkpoint--1.safetensors",
        "checkpoint-5.safetensors.bak", "checkpoint-99999999999999999999.safetensors", "notes.txt"})
    write_file_atomically(dir / other, "x");
  EXPECT_THAT(saved_steps(dir.path()), ElementsAre(9, 20, 100));
  EXPECT_THAT(saved_steps(dir / "missing"), IsEmpty());
}

TEST(Checkpoint, TheNewestStay) {
  TemporaryFolder dir;
  for (std::int64_t step = 1; step <= 6; ++step)
    save_checkpoint(dir.path(), example(step), {.newest = 3});
  EXPECT_THAT(saved_steps(dir.path()), ElementsAre(4, 5, 6));
  save_checkpoint(dir.path(), example(7), {.newest = 0});  // 0 keeps all
  EXPECT_THAT(saved_steps(dir.path()), ElementsAre(4, 5, 6, 7));
}

TEST(Checkpoint, OneForEachSpanStaysForGood) {
  TemporaryFolder dir;
  auto begin = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  for (std::int64_t step = 1; step <= 8; ++step) {  // one a minute
    std::string path = save_checkpoint(dir.path(), example(step),
                                       {.newest = 2, .every = std::chrono::seconds(100)});
    std::filesystem::last_write_time(path, begin + std::chrono::minutes(step));
  }
  EXPECT_THAT(saved_steps(dir.path()), ElementsAre(7, 8));
  EXPECT_THAT(saved_steps(kept_folder(dir.path())), ElementsAre(1, 3, 5));
  EXPECT_EQ(load_checkpoint(checkpoint_path(dir / "kept", 3)).step, 3);
  save_checkpoint(dir.path(), example(9),
                  {.newest = 1});  // without the option those that stayed still do
  EXPECT_THAT(saved_steps(dir.path()), ElementsAre(9));
  EXPECT_THAT(saved_steps(kept_folder(dir.path())), ElementsAre(1, 3, 5));
}

TEST(Checkpoint, SomeStayByTheirSteps) {
  TemporaryFolder dir;
  for (std::int64_t step : {0, 4, 8, 12, 16, 20, 24, 25, 26})
    save_checkpoint(dir.path(), example(step),
                    {.newest = 2, .every = Steps(10), .multiples_of = Steps(12)});
  EXPECT_THAT(saved_steps(dir.path()), ElementsAre(25, 26));
  // The last of step 0, of 1..10 and of 11..20; the multiples 0, 12 and 24.
  EXPECT_THAT(saved_steps(kept_folder(dir.path())), ElementsAre(0, 8, 12, 20, 24));
}

// An earlier training, which came further, has left the checkpoint of step 900 in `kept`.
TEST(Checkpoint, ASpanIsMeasuredFromTheStepBefore) {
  TemporaryFolder dir;
  auto begin = std::filesystem::file_time_type::clock::now() - std::chrono::hours(9);
  for (std::int64_t step : {100, 900}) {
    write_checkpoint(checkpoint_path(dir.path(), step), example(step));
    create_folders(kept_folder(dir.path()));
    std::string kept = checkpoint_path(kept_folder(dir.path()), step);
    std::filesystem::rename(checkpoint_path(dir.path(), step), kept);
    std::filesystem::last_write_time(kept, begin);
  }
  for (std::int64_t step = 501; step <= 506; ++step) {
    std::string path =
        save_checkpoint(dir.path(), example(step), {.newest = 1, .every = std::chrono::hours(1)});
    std::filesystem::last_write_time(path, begin + std::chrono::minutes(50 + 15 * (step - 501)));
  }
  // The checkpoints are 50, 65, 80, ... minutes after that of step 100; only that of 65 is beyond
  // an hour.
  EXPECT_THAT(saved_steps(kept_folder(dir.path())), ElementsAre(100, 502, 900));
}

TEST(Checkpoint, ALinkThatLeadsNowhereIsRemoved) {
  TemporaryFolder dir;
  std::filesystem::create_symlink("nowhere", checkpoint_path(dir.path(), 1));
  CapturedLog log;
  for (std::int64_t step : {2, 3}) save_checkpoint(dir.path(), example(step), {.newest = 1});
  EXPECT_THAT(saved_steps(dir.path()), ElementsAre(3));
  EXPECT_EQ(log.warnings, "");
}

TEST(Checkpoint, WhatCannotMoveIsWarnedOf) {
  TemporaryFolder dir;
  write_file_atomically(dir / "kept", "a file where the folder would be");
  CapturedLog log;
  for (std::int64_t step : {1, 2})
    save_checkpoint(dir.path(), example(step), {.newest = 1, .every = std::chrono::seconds(1)});
  EXPECT_THAT(saved_steps(dir.path()), ElementsAre(1, 2));
  EXPECT_THAT(log.warnings,
              AllOf(HasSubstr(concat("could not move ", checkpoint_path(dir.path(), 1), " to ",
                                     kept_folder(dir.path()), ": ")),
                    HasSubstr("Not a directory")));
}

TEST(Checkpoint, SaysHowItWasTrained) {
  TemporaryFolder dir;
  RunConfig config = quiet();
  config.seed = 77;
  Estimator({.model_fn = falling, .model_dir = dir.path(), .run = config})
      .train(over_and_over({one_point()}), {.steps = 1});
  Checkpoint read = load_checkpoint(checkpoint_path(dir.path(), 1));
  EXPECT_EQ(read.config, to_json(config));
  EXPECT_THAT(read.version, ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

TEST(Checkpoint, OlderFilesDoNotSayHowTheyWereTrained) {
  TemporaryFolder dir;
  Metadata metadata{{"belfry.checkpoint", "1"},
                    {"belfry.global_step", "3"},
                    {"belfry.seed", "1"},
                    {"belfry.input", ""},
                    {"belfry.hooks", "{}"}};
  save_safetensors(dir / "old", example(3).variables, metadata);
  Checkpoint read = load_checkpoint(dir / "old");
  EXPECT_EQ(read.step, 3);
  EXPECT_EQ(read.config, "");
  EXPECT_EQ(read.version, "");
}

TEST(Checkpoint, ADamagedNewerOneCostsNoGoodOne) {
  TemporaryFolder dir;
  save_checkpoint(dir.path(), example(10), {.newest = 1});
  save_checkpoint(dir.path(), example(20), {.newest = 0});
  damage(checkpoint_path(dir.path(), 20));
  save_checkpoint(dir.path(), example(15), {.newest = 1});
  EXPECT_THAT(saved_steps(dir.path()), ElementsAre(15));
  CapturedLog log;
  EXPECT_EQ(load_latest_checkpoint(dir.path())->step, 15);
  for (std::int64_t step : {20, 30}) save_checkpoint(dir.path(), example(step), {.newest = 3});
  save_checkpoint(dir.path(), example(10), {.newest = 3});
  EXPECT_THAT(saved_steps(dir.path()),
              ElementsAre(10, 20, 30));  // 15 is newer than what was just written
}

TEST(Checkpoint, AnOlderOneStandsInForADamagedOne) {
  TemporaryFolder dir;
  for (std::int64_t step : {1, 2, 3}) save_checkpoint(dir.path(), example(step), {.newest = 0});
  damage(checkpoint_path(dir.path(), 3));
  CapturedLog log;
  EXPECT_EQ(load_latest_checkpoint(dir.path())->step, 2);
  EXPECT_THAT(log.warnings,
              ::testing::StartsWith("cannot use a checkpoint, trying an older one: "));
  auto times = [&](const std::string& path) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = log.warnings.find(path, at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(times(checkpoint_path(dir.path(), 3)), 1u);
  EXPECT_EQ(times(checkpoint_path(dir.path(), 2)), 0u);
}

TEST(Checkpoint, WhenAllAreDamagedNothingIsMadeUp) {
  TemporaryFolder dir;
  for (std::int64_t step : {1, 2}) {
    save_checkpoint(dir.path(), example(step), {.newest = 0});
    damage(checkpoint_path(dir.path(), step));
  }
  CapturedLog log;
  EXPECT_THAT(error_of([&] { load_latest_checkpoint(dir.path()); }),
              AllOf(StartsWith("none of the 2 checkpoints in " + dir.path() + " can be read"),
                    HasSubstr("checkpoint-1.safetensors"), HasSubstr("move them away")));
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = quiet()});
  EXPECT_THAT(error_of([&] { estimator.train(over_and_over({one_point()}), {.steps = 1}); }),
              StartsWith("none of the 2 checkpoints"));
  EXPECT_EQ(load_latest_checkpoint(dir / "missing"), std::nullopt);
}

TEST(Checkpoint, OtherFilesAreNamedAsWhatTheyAre) {
  TemporaryFolder dir;
  EXPECT_THAT(error_of([&] { load_checkpoint(dir / "checkpoint-9.safetensors"); }),
              AllOf(HasSubstr("checkpoint-9.safetensors"), HasSubstr("No such file")));
  std::string path = dir / "weights.safetensors";
  save_safetensors(path, example(1).variables);
  EXPECT_EQ(error_of([&] { load_checkpoint(path); }),
            "no entry `belfry.checkpoint` in its metadata: not a Belfry checkpoint (checkpoint "
                + path + ")");
  save_safetensors(path, {}, {{"belfry.checkpoint", "2"}});
  EXPECT_THAT(error_of([&] { load_checkpoint(path); }),
              StartsWith("checkpoint format 2 is not the one that this version reads, 1"));
}

TEST(Checkpoint, StatesAreText) {
  TemporaryFolder dir;
  save_checkpoint(dir.path(), example(1), {.newest = 0});
  Checkpoint bad = example(2);
  bad.hooks["best"] = "\xff\xfe";
  EXPECT_EQ(error_of([&] { save_checkpoint(dir.path(), bad, {.newest = 1}); }),
            "checkpoint: name or state of hook `best` is not UTF-8 text; write bytes as "
            "hexadecimal digits");
  bad = example(3);
  bad.input = "\xff";
  EXPECT_THAT(error_of([&] { save_checkpoint(dir.path(), bad, {.newest = 1}); }),
              HasSubstr("UTF-8"));
  EXPECT_THAT(saved_steps(dir.path()), ElementsAre(1));  // and nothing was lost
  EXPECT_EQ(dir.names().size(), 1u);
}

TEST(Checkpoint, RulesThatCannotBeFollowedAreRefusedFirst) {
  TemporaryFolder dir;
  auto error = [&](const KeepRules& keep) {
    return error_of([&] { save_checkpoint(dir.path(), example(1), keep); });
  };
  EXPECT_EQ(error({.newest = -1}), "save_checkpoint: keep.newest must be at least 0, got -1");
  EXPECT_EQ(error({.every = Steps(0)}),
            "save_checkpoint: keep.every must be above 0, got 0 steps; std::nullopt turns it off");
  EXPECT_TRUE(dir.names().empty());
}

// ---- the Estimator with checkpoints

class Resuming : public ::testing::Test {
 protected:
  Estimator make(ModelFn model, RunConfig config = saving_every(1)) {
    return Estimator({.model_fn = std::move(model), .model_dir = dir.path(), .run = config});
  }
  TemporaryFolder dir;
  InputFn input = over_and_over({one_point()});
};

TEST_F(Resuming, TrainingGoesOnFromAnOlderOne) {
  make(falling).train(input, {.steps = 3});
  damage(checkpoint_path(dir.path(), 3));
  CapturedLog log;
  Estimator estimator = make(falling, saving_every(1, 1));
  EXPECT_EQ(estimator.train(input, {.steps = 1}).global_step, 3);
  EXPECT_THAT(log.warnings, AllOf(HasSubstr("cannot use a checkpoint, trying an older one: "),
                                  HasSubstr("checkpoint-3.safetensors")));
  EXPECT_EQ(scalar(estimator, "w"), 8 - 3 * 0.25);
  EXPECT_EQ(load_checkpoint(checkpoint_path(dir.path(), 3)).step, 3);  // written anew
}

TEST_F(Resuming, AFailedSaveLeavesTheOlderOnes) {
  struct Obstacle final : Hook {  // a folder where the checkpoint wants to be
    void after_step(const StepResult& r) override {
      if (r.step == 3)
        std::filesystem::create_directories(checkpoint_path(r.context.model_dir(), 3) + "/x");
    }
  };
  Estimator estimator = make(falling, saving_every(1, 1));
  EXPECT_THAT(error_of([&] { estimator.train(input, {.hooks = {std::make_shared<Obstacle>()}}); }),
              AllOf(HasSubstr("checkpoint-3.safetensors"), HasSubstr("(in training step 3)")));
  EXPECT_EQ(load_checkpoint(checkpoint_path(dir.path(), 2)).step, 2);
  std::filesystem::remove_all(checkpoint_path(dir.path(), 3));
  EXPECT_EQ(estimator.train(input, {.max_steps = 3}).steps, 0);  // nor was the step lost
  EXPECT_EQ(load_checkpoint(checkpoint_path(dir.path(), 3)).step, 3);
  EXPECT_EQ(estimator.train(input, {.steps = 1}).global_step, 4);
}

TEST_F(Resuming, AMissingVariableIsNamed) {
  make(falling).train(input, {.steps = 1});
  auto more = [](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = falling(s, batch, mode);
    spec.loss = spec.loss + s.variable("v", {}).value();
    return spec;
  };
  std::string path = checkpoint_path(dir.path(), 1);
  EXPECT_EQ(error_of([&] { make(more).train(input, {.steps = 1}); }),
            path + " does not fit the model:\n  missing: `v` f32[]\nuse another model_dir, or undo "
                   "the change to the model; into another model_dir what fits is taken over with "
                   "EstimatorOptions::warm_start = WarmStart{.from = \"" + path
                 + "\", .strict = false} (in training step 2)");
  path = checkpoint_path(dir.path(), 0);
  EXPECT_EQ(error_of([&] { make(more).evaluate(input, {.steps = 1, .checkpoint = path}); }),
            path + " does not fit the model:\n  missing: `v` f32[]\nname a checkpoint of this "
                   "model, or undo the change to it");
}

TEST_F(Resuming, AChangedShapeIsNamedEachTime) {
  make(linear).train(over_and_over({one_point()}), {.steps = 1});
  auto wider = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor y = dense(s / "line", batch["x"], {.units = 2});
    return {.loss = mean(y), .train = sgd()};
  };
  Estimator estimator = make(wider);
  for (int attempt = 0; attempt < 2; ++attempt)  // no half-made variable may hide it
    EXPECT_THAT(error_of([&] { estimator.train(over_and_over({one_point()}), {.steps = 1}); }),
                HasSubstr("/checkpoint-1.safetensors does not fit the model:\n"
                          "  other type: `line/kernel` is f32[1, 1], the model asks for f32[1, 2]\n"
                          "  other type: `line/bias` is f32[1], the model asks for f32[2]\n"
                          "use another model_dir, or undo the change to the model"));
}

TEST_F(Resuming, AnotherProcessMayHaveGoneOn) {
  Estimator first = make(falling), second = make(falling);
  first.train(input, {.steps = 2});
  second.train(input, {.steps = 3});
  EXPECT_EQ(first.evaluate(input, {.steps = 1}).at("global_step"), 5);
  EXPECT_EQ(first.train(input, {.steps = 1}).global_step, 6);
  EXPECT_EQ(scalar(first, "w"), 8 - 6 * 0.25);
}

TEST_F(Resuming, DataShuffledWithAnotherSeedAreToldOfIt) {
  auto train = [&](std::uint64_t seed) {
    RunConfig config = quiet();
    config.seed = seed;
    auto shuffled = data::generator([x = 0.0f](std::stop_token) mutable -> std::optional<Features> {
                      return one_point(x += 1);
                    })
                    | data::take(8) | data::shuffle(4, {.seed = seed});
    make(falling, config).train(shuffled, {.steps = 1});
  };
  train(5);
  CapturedLog log;
  EXPECT_THAT(error_of([&] { train(6); }),
              AllOf(HasSubstr("shuffle.seed"),
                    HasSubstr("(RunConfig::seed is 6, the training began with 5; data that are")));
  train(5);
}

TEST_F(Resuming, TheCheckpointsSeedStays) {
  RunConfig config = quiet();
  config.seed = 5;
  make(falling, config).train(input, {.steps = 1});
  config.seed = 6;
  CapturedLog log;
  make(falling, config).train(input, {.steps = 1});
  EXPECT_THAT(log.warnings, HasSubstr("the checkpoint was trained with seed 5, which stays"));
  EXPECT_EQ(load_checkpoint(checkpoint_path(dir.path(), 2)).seed, 5u);
}

TEST_F(Resuming, AMissingNamedCheckpointIsAnError) {
  Estimator estimator = make(falling);
  for (const std::string& place : {dir / "best", dir.path()})
    EXPECT_EQ(error_of([&] { estimator.evaluate(input, {.checkpoint = place}); }),
              "there is no checkpoint at `" + place
                  + "`; give the path of one, or a model_dir that has some");
}

TEST_F(Resuming, AnUnwritableModelDirIsFoundBeforeAnythingElse) {
  write_file_atomically(dir / "file", "x");
  int built = 0, opened = 0;
  auto model = [&](Scope s, const Batch& batch, Mode mode) {
    ++built;
    return falling(std::move(s), batch, mode);
  };
  auto counting = [&]() -> InputStreamPtr {
    ++opened;
    return over_and_over({one_point()})();
  };
  Estimator estimator({.model_fn = model, .model_dir = dir / "file", .run = quiet()});
  EXPECT_THAT(error_of([&] { estimator.train(counting, {.steps = 1}); }),
              AllOf(StartsWith("model_dir: cannot write to `" + (dir / "file") + "`"),
                    HasSubstr("choose another model_dir")));
  EXPECT_EQ(built + opened, 0);
}

TEST_F(Resuming, WithoutSavingNothingIsWritten) {
  make(falling, saving_nothing()).train(input, {.steps = 3});
  EXPECT_THAT(dir.names(), IsEmpty());
}

}  // namespace
}  // namespace belfry
