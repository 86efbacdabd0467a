// Covers toolkit/nvrtc/fused_elementwise.cpp as far as it goes without a GPU: what happens where no
// chain can be compiled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../../fused/chains.h"
#include "../../recording_api.h"
#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/base/log.h"

namespace belfry::cuda {
namespace {

TEST(NvrtcFusedElementwise, WithoutItChainsAreInterpretedWhichIsSaidOnce) {
  if (devices_present("cuda").count > 0) GTEST_SKIP() << "there is a GPU";
  std::vector<std::string> lines;
  LogSink before = set_log_sink([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  RecordingApi api;
  auto faults = std::make_shared<Faults>();
  for (std::size_t n : {0u, 1u, 2u}) {
    Graph graph;
    auto kernel = find_kernel(build(graph, chain_cases()[n]), {api, 0, *faults}, {});
    ASSERT_TRUE(kernel);
    EXPECT_EQ(kernel->implementation(), "cuda");
  }
  set_log_sink(before);
  EXPECT_THAT(lines, ::testing::ElementsAre(::testing::StartsWith(
                         "chains of elementwise ops run on a slower kernel: cuda")));
}

}  // namespace
}  // namespace belfry::cuda
