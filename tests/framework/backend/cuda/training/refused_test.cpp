// A training whose n-th request to the GPU is refused, for every n.

#include "belfry/framework/backend/cuda/device.h"
#include "belfry/framework/backend/cuda/toolkit/runtime_api.h"
#include "failing_api.h"
#include "training_on_gpu.h"

namespace belfry {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

cuda::FailingApi& api() {
  static cuda::FailingApi instance(cuda::runtime_api());
  return instance;
}

// The same GPUs once more. Nobody finds them who does not know their name.
const DeviceRegistration registration(
    "refusing", [](int index) { return cuda::make_device(api(), index); },
    [] { return DevicesPresent{.count = 0, .why_none = "they are for this test"}; });

// Batches of two shapes take turns: two plans, and each is run eagerly, captured and replayed.
Trained train_on_refusing() { return train_on(on("refusing"), 6, 0, digits({8, 4})); }

void expect_explains(const std::string& error, cuda::Scarce kind) {
  switch (kind) {
    case cuda::Scarce::memory:
      // The error says what the memory is for, and how much.
      EXPECT_THAT(error, ContainsRegex(".+: out of memory on cuda:0: [0-9.]+ [KMG]?i?B asked for"));
      break;
    case cuda::Scarce::pinned:
      EXPECT_THAT(error, ContainsRegex("pinned host memory: could not allocate [0-9.]+ "
                                       "[KMG]?i?B \\(for .+\\)"));
      break;
    case cuda::Scarce::handles:
      EXPECT_THAT(error, HasSubstr("cudaErrorMemoryAllocation"));
  }
}

class CudaRefused : public ::testing::TestWithParam<cuda::Scarce> {};

TEST_P(CudaRefused, AnyRequestIsToldAndHarmsNobody) {
  Trained undisturbed = train_on_refusing();
  ASSERT_THAT(api().alive(), IsEmpty());
  int refusals = 0;
  for (bool refused = true; refused; ++refusals) {
    SCOPED_TRACE(concat("after ", refusals));
    // Kept, if it could be made, for the training that follows.
    std::shared_ptr<Device> device;
    api().refuse_one_of(GetParam(), refusals);
    std::string error = error_of([&] {
      device = find_device("refusing:0");
      train_on_refusing();
    });
    refused = api().stop_refusing();
    EXPECT_EQ(error != "no error", refused) << error;
    if (refused) expect_explains(error, GetParam());
    if (device) {
      EXPECT_EQ(device->memory_in_use().count, 0);
    }
    expect_same(train_on_refusing(), undisturbed);
    device.reset();
    ASSERT_THAT(api().alive(), IsEmpty());
  }
  EXPECT_GT(refusals, 4);
}

INSTANTIATE_TEST_SUITE_P(All, CudaRefused,
                         ::testing::Values(cuda::Scarce::memory, cuda::Scarce::pinned,
                                           cuda::Scarce::handles),
                         [](const auto& info) { return to_string(info.param); });

}  // namespace
}  // namespace belfry
