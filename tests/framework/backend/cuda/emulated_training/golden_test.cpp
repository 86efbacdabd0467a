// The first of the steps whose losses are known; a real GPU runs them all (tests/gpu).

#include "../../../train/golden.h"

#include "../training/training_on_gpu.h"

namespace belfry {
namespace {

TEST(EmulatedGolden, TheFirstStepsOfLeNet) {
  std::vector<double> seen = golden::losses_of(on("cuda"), golden::bars(), 3);
  EXPECT_EQ(seen.size(), 3);
  golden::expect_losses(seen, golden::losses_on_bars, "an emulated GPU");
}

}  // namespace
}  // namespace belfry
