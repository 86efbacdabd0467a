// Checkpoints that training writes, on a disk that fails.

#include <atomic>
#include <set>
#include <thread>

#include "../framework/train/training_testing.h"
#include "belfry/hooks/hooks.h"
#include "power_failure.h"
#include "trials.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Notes on the disk that a checkpoint was said to be durable, and of which step.
struct Promises final : CheckpointListener {
  void after_save(HookContext&, const std::string& path) override {
    steps.push_back(load_checkpoint(path).step);
    threads.insert(std::this_thread::get_id());
    FaultyDisk::active()->mark();
  }
  std::vector<std::int64_t> steps;
  std::set<std::thread::id> threads;
};

class TrainingOnAFailingDisk : public ::testing::TestWithParam<bool> {
 protected:
  RunConfig config() const {
    RunConfig out = saving_every(2, 1);
    out.save_in_background = GetParam();
    return out;
  }
  CapturedLog log;
  InputFn input = over_and_over({one_point()});
  std::shared_ptr<Promises> promises = std::make_shared<Promises>();
};

TEST_P(TrainingOnAFailingDisk, APowerFailureLosesNothingThatWasPromised) {
  DiskLog changes = log_of(
      [](auto&) {},
      [&](const std::string& folder) {
        Estimator estimator(
            {.model_fn = falling, .model_dir = folder + "/runs/a", .run = config()});
        auto validate = hooks::validate(
            estimator, {.input_fn = input, .every = Steps(3), .steps = 1, .keep_best = 1});
        estimator.train(input, {.max_steps = 6, .hooks = {validate}, .listeners = {promises}});
      });
  EXPECT_EQ(promises->steps, (std::vector<std::int64_t>{0, 2, 3, 4, 6, 6}));
  EXPECT_EQ(promises->threads, std::set{std::this_thread::get_id()});
  for_each_power_failure(changes, [&](const PowerFailure& failure) {
    SCOPED_TRACE(failure.story);
    if (failure.marks == 0) return;
    auto promised = std::min<std::size_t>(static_cast<std::size_t>(failure.marks), 6) - 1;
    std::string dir = failure.folder + "/runs/a";
    auto latest = load_latest_checkpoint(dir);
    ASSERT_TRUE(latest);
    EXPECT_GE(latest->step, promises->steps[promised]);
    EXPECT_EQ(latest->variables.at("w").item(), 8 - 0.25 * static_cast<double>(latest->step));
    if (promised < 3) return;  // the best is kept right after the checkpoint of step 3
    auto best = hooks::best_checkpoint(dir);
    ASSERT_TRUE(best);
    EXPECT_GE(load_checkpoint(*best).step, 3);
  });
}

TEST_P(TrainingOnAFailingDisk, AFullDiskEndsItAndCostsNoStep) {
  TemporaryFolder folder;
  Estimator estimator({.model_fn = falling, .model_dir = folder.path(), .run = config()});
  {
    FaultyDisk disk(folder.path());
    disk.watch([&](int, bool) {  // from step 2 on
      if (promises->steps.size() == 1) disk.leave_room(0);
    });
    EXPECT_THAT(
        error_of([&] { estimator.train(input, {.max_steps = 100, .listeners = {promises}}); }),
        AllOf(HasSubstr("checkpoint-2.safetensors`: No space left on device; free some"),
              HasSubstr("(in training step ")));
  }
  EXPECT_EQ(saved_steps(folder.path()), std::vector<std::int64_t>{0});
  EXPECT_EQ(folder.names().size(), 1u);
  std::int64_t reached = estimator.train(input, {.max_steps = 1}).global_step;
  EXPECT_GE(reached, 2);
  EXPECT_EQ(load_latest_checkpoint(folder.path())->step, reached);
  EXPECT_EQ(scalar(estimator, "w"), 8 - 0.25 * static_cast<double>(reached));
}

INSTANTIATE_TEST_SUITE_P(Saving, TrainingOnAFailingDisk, ::testing::Values(false, true),
                         [](const auto& info) {
                           return info.param ? "InTheBackground" : "BetweenSteps";
                         });

TEST(KeptCheckpoints, AreThereAfterAPowerFailure) {
  auto save = [](const std::string& folder, std::int64_t step) {
    save_checkpoint(folder, {.step = step}, {.newest = 1, .every = std::chrono::seconds(1)});
  };
  DiskLog changes = log_of([&](const std::string& folder) { save(folder, 1); },
                           [&](const std::string& folder) { save(folder, 2); });
  for_each_power_failure(changes, [&](const PowerFailure& failure) {
    SCOPED_TRACE(failure.story);
    if (failure.marks == 0) return;
    EXPECT_EQ(saved_steps(kept_folder(failure.folder)), std::vector<std::int64_t>{1});
    EXPECT_EQ(saved_steps(failure.folder), std::vector<std::int64_t>{2});
  });
}

/// Says when steps 2 and 3 are done.
struct Steps2And3 final : Hook {
  void after_step(const StepResult& result) override {
    if (result.step == 2) two = true;
    if (result.step == 3) three = true;
  }
  std::atomic<bool> two = false, three = false;
};

TEST(SavingInTheBackground, LetsTrainingGoOnAndEndsWithIt) {
  CapturedLog log;
  TemporaryFolder folder;
  RunConfig config = saving_every(2);
  config.save_in_background = true;
  Estimator estimator({.model_fn = falling, .model_dir = folder.path(), .run = config});
  auto done = std::make_shared<Steps2And3>();
  auto promises = std::make_shared<Promises>();
  bool held = false;
  FaultyDisk disk(folder.path());
  disk.watch([&](int, bool) {  // the first call for checkpoint 2 takes until step 3 is done
    if (!done->two || std::exchange(held, true)) return;
    for (int i = 0; i < 10'000 && !done->three; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(done->three) << "training waited for the disk";
  });
  estimator.train(over_and_over({one_point()}),
                  {.max_steps = 4, .hooks = {done}, .listeners = {promises}});
  EXPECT_TRUE(held);
  EXPECT_EQ(promises->steps, (std::vector<std::int64_t>{0, 2, 4}));
  for (std::int64_t step : {0, 2, 4}) {
    Checkpoint read = load_checkpoint(checkpoint_path(folder.path(), step));
    EXPECT_EQ(read.variables.at("w").item(), 8 - 0.25 * static_cast<double>(step));
  }
}

}  // namespace
}  // namespace belfry
