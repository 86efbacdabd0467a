// Covers toolkit/nvrtc/compile.cpp and device_headers.cmake: NVRTC compiles without a GPU.
#include "belfry/framework/backend/cuda/toolkit/nvrtc/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "../../fused/chains.h"
#include "belfry/framework/backend/cuda/fused_source.h"
#include "belfry/framework/base/error.h"

namespace belfry::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

bool is_machine_code(const std::vector<char>& code) {
  std::string_view bytes(code.data(), code.size());
  return bytes.substr(0, 4) == "\x7f" "ELF"
         && bytes.find(".text.fused_chain") != std::string_view::npos;
}

TEST(NvrtcCompile, CompilesEveryChainAndFunctor) {
  std::set<std::string> texts;
  for (const ChainCase& chain : chain_cases()) {
    Graph graph;
    std::string text = fused_source(build(graph, chain)).value().text;
    if (!texts.insert(text).second) continue;
    for (int architecture : {80, 90})
      EXPECT_TRUE(is_machine_code(compile_kernel(text, architecture)))
          << chain.name << " for " << architecture;
  }
}

TEST(NvrtcCompile, SaysWhatNvrtcSays) {
  EXPECT_THAT([] { compile_kernel("int x = ;", 90); },
              ThrowsMessage<Error>("nvrtcCompileProgram: NVRTC_ERROR_COMPILATION: "
                                   "fused_chain.cu(1): error: expected an expression"));
  EXPECT_THAT([] { compile_kernel("", 13); },
              ThrowsMessage<Error>(HasSubstr("NVRTC_ERROR_INVALID_OPTION")));
}

}  // namespace
}  // namespace belfry::cuda
