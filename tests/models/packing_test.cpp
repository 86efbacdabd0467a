// How much more memory training plans need than lives at their peak.

#include <gtest/gtest.h>

#include <cstdio>

#include "belfry/framework/compiler/memory_planner.h"
#include "every_model.h"

namespace belfry::models {
namespace {

std::int64_t bytes_at_peak(const Plan& plan) {
  std::int64_t most = 0;
  for (const PlannedBlock& moment : plan.blocks) {  // some block begins when the most bytes live
    std::int64_t live = 0;
    for (const PlannedBlock& b : plan.blocks)
      if (b.first <= moment.first && moment.first <= b.last) live += aligned(b.bytes);
    most = std::max(most, live);
  }
  return most;
}

class Packing : public ::testing::TestWithParam<SmallModel> {};

TEST_P(Packing, NeedsLittleMoreThanLivesAtThePeak) {
  for (Precision precision : {Precision::f32, Precision::bf16}) {
    auto plan = training_plan(GetParam(), precision);
    std::int64_t peak = bytes_at_peak(*plan);
    std::printf("%-20s %-5s arena %10lld, peak %10lld, %.4f\n", GetParam().name.c_str(),
                to_string(precision).c_str(), static_cast<long long>(plan->arena_bytes),
                static_cast<long long>(peak),
                static_cast<double>(plan->arena_bytes) / static_cast<double>(peak));
    EXPECT_GE(plan->arena_bytes, peak);
    EXPECT_LE(static_cast<double>(plan->arena_bytes), 1.03 * static_cast<double>(peak))
        << to_string(precision);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Packing, ::testing::ValuesIn(every_model()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace belfry::models
