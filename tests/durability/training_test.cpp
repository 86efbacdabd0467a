// Checkpoints that training writes, on a disk that fails.

#include "../framework/train/training_testing.h"
#include "belfry/hooks/hooks.h"
#include "power_failure.h"
#include "trials.h"

namespace belfry {
namespace {

/// Notes on the disk that a checkpoint was said to be durable, and of which step.
struct Promises final : CheckpointListener {
  void after_save(HookContext& context, const std::string&) override {
    steps.push_back(context.step());
    FaultyDisk::active()->mark();
  }
  std::vector<std::int64_t> steps;
};

TEST(TrainingOnAFailingDisk, APowerFailureLosesNothingThatWasPromised) {
  CapturedLog log;
  auto promises = std::make_shared<Promises>();
  InputFn input = over_and_over({one_point()});
  DiskLog changes = log_of(
      [](auto&) {},
      [&](const std::string& folder) {
        Estimator estimator(
            {.model_fn = falling, .model_dir = folder + "/runs/a", .run = saving_every(2, 1)});
        auto validate =
            hooks::validate(estimator, input, {.every = Steps(3), .evaluate = {.steps = 1}});
        estimator.train(input, {.max_steps = 6, .hooks = {validate}, .listeners = {promises}});
      });
  EXPECT_EQ(promises->steps, (std::vector<std::int64_t>{0, 2, 3, 4, 6, 6}));
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

}  // namespace
}  // namespace belfry
