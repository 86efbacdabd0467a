// Which calls of CUDA training makes, and what happens when they fail.

#include "../emulated/emulated_api.h"
#include "../training/training_on_gpu.h"

namespace belfry {
namespace {

// Two shapes of batches, so two plans, each captured in its second step.
TEST(EmulatedTraining, AStepIsReplayedFromTheSecondOfItsPlanOn) {
  RunConfig eager = on("cuda");
  eager.capture_steps = false;
  auto replays = [] { return cuda::emulated_api().counts().replays; };
  int before = replays();
  train_on(eager, 14);
  EXPECT_EQ(replays(), before);
  train_on(on("cuda"), 14);
  EXPECT_EQ(replays(), before + 12);
}

// The larger batch comes behind the smaller one, whose plan then computes elsewhere: step 1 of each
// plan is launched, and step 5, the first of the smaller one after that.
TEST(EmulatedTraining, APlanWhoseArenaHasMovedIsCapturedAnew) {
  InputFn growing = digits({4, 4, 64, 64, 4, 4});
  RunConfig eager = on("cuda");
  eager.capture_steps = false;
  Trained launched = train_on(eager, 14, 0, growing);
  auto replays = [] { return cuda::emulated_api().counts().replays; };
  int before = replays();
  expect_same(train_on(on("cuda"), 14, 0, growing), launched);
  EXPECT_EQ(replays(), before + 11);
}

TEST(EmulatedTraining, AStepAllocatesNothingAndWaitsForTheOneBefore) {
  TemporaryFolder folder;
  RunConfig config = on("cuda");
  Estimator estimator({.model_fn = falling, .model_dir = folder.path(), .run = config});
  struct Watch final : Hook {
    void after_step(const StepResult&) override { counts.push_back(cuda::emulated_api().counts()); }
    std::vector<cuda::EmulatedApi::Counts> counts;
  };
  auto watch = std::make_shared<Watch>();
  estimator.train(over_and_over({one_point()}), {.max_steps = 8, .hooks = {watch}});
  for (std::size_t i = 4; i < 6; ++i) {
    const auto &a = watch->counts[i - 1], &b = watch->counts[i];
    EXPECT_EQ(b.allocations, a.allocations);
    EXPECT_EQ(b.launches, a.launches);
    EXPECT_EQ(b.replays, a.replays + 1);
    EXPECT_EQ(b.copies, a.copies + 3);  // inputs up, into place, results down
    EXPECT_EQ(b.waits, a.waits + 2);    // for the buffer of two steps ago, for the step before
  }
}

// Nothing that is freed on the way may throw a second time.
TEST(EmulatedTraining, AGpuThatFailsIsToldByItsOwnError) {
  struct Break final : Hook {
    void after_step(const StepResult& result) override {
      if (result.step == 3) cuda::emulated_api().set_broken(true);
    }
  };
  TemporaryFolder folder;
  std::string error = error_of([&] {
    Estimator estimator(
        {.model_fn = resuming_model, .model_dir = folder.path(), .run = on("cuda")});
    estimator.train(digits(), {.max_steps = 9, .hooks = {std::make_shared<Break>()}});
  });
  cuda::emulated_api().set_broken(false);
  EXPECT_THAT(error, ::testing::HasSubstr("cudaErrorIllegalAddress"));
  EXPECT_EQ(load_checkpoint(checkpoint_path(folder.path(), 0)).step, 0);
}

}  // namespace
}  // namespace belfry
