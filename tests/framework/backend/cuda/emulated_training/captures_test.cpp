// Captures of steps beside calls that spoil them: waiting for a whole GPU, as freeing memory does.

#include <atomic>
#include <thread>

#include "../emulated/emulated_api.h"
#include "../training/training_on_gpu.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Batches of many shapes: each is captured, and what others free comes between.
TEST(CudaCaptures, AreNotSpoiltByWhatOthersFree) {
  int spoilt = cuda::emulated_api().spoilt_captures();
  Trained undisturbed = train_on(on("cuda"), 40, 0, digits({8, 7, 6, 5, 4, 3, 2, 1}));
  auto device = find_device("cuda");
  Bytes before = device->memory_in_use();
  for (int round = 0; round < 10; ++round) {
    std::atomic<bool> trained = false;
    std::jthread other([&] {
      while (!trained) device->allocate(Bytes(1000), "the other thread's memory");
    });
    Trained beside;
    std::string error = error_of([&] {
      beside = train_on(on("cuda"), 40, 0, digits({8, 7, 6, 5, 4, 3, 2, 1}));
    });
    trained = true;
    other.join();
    ASSERT_EQ(error, "no error");
    expect_same(beside, undisturbed);
  }
  EXPECT_EQ(cuda::emulated_api().spoilt_captures(), spoilt);
  EXPECT_EQ(device->memory_in_use().count, before.count);
}

// A library may make the call that spoils them; Belfry knows nothing of it.
TEST(CudaCaptures, ASpoiltOneIsMadeAgain) {
  Trained undisturbed = train_on(on("cuda"), 8, 0, digits({8}));
  int replays = cuda::emulated_api().counts().replays;
  cuda::emulated_api().spoil_next_captures(1);
  Trained disturbed = train_on(on("cuda"), 8, 0, digits({8}));
  expect_same(disturbed, undisturbed);
  // The first step is eager in any case, and so is the one whose capture was spoilt.
  EXPECT_EQ(cuda::emulated_api().counts().replays - replays, 6);
}

TEST(CudaCaptures, TwoSpoiltOnesInARowAreAnError) {
  cuda::emulated_api().spoil_next_captures(2);
  EXPECT_THAT(error_of([&] { train_on(on("cuda"), 8, 0, digits({8})); }),
              AllOf(HasSubstr("cudaErrorStreamCaptureInvalidated"), HasSubstr("in training step 3"),
                    HasSubstr("RunConfig::capture_steps = false runs without")));
}

}  // namespace
}  // namespace belfry
