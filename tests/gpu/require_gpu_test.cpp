// Without a GPU nothing that this program says would mean anything.

#include <gtest/gtest.h>

#include "belfry/framework/backend/backend.h"

namespace belfry {
namespace {

class RequireGpu final : public ::testing::Environment {
 public:
  void SetUp() override {
    DevicesPresent gpus = devices_present("cuda");
    if (gpus.count == 0) GTEST_FAIL() << "there is no GPU: " << gpus.why_none;
  }
};

[[maybe_unused]] const auto* environment =
    ::testing::AddGlobalTestEnvironment(new RequireGpu);  // gtest owns it

TEST(Gpu, SaysWhatItIs) {
  auto device = find_device("cuda:0");
  EXPECT_EQ(device->name(), "cuda:0");
  EXPECT_GT(device->memory_limit().count, std::int64_t{1} << 30);
  std::cout << device->description() << '\n';
}

}  // namespace
}  // namespace belfry
