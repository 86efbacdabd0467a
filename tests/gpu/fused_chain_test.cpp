// Chains of elementwise ops on kernels that NVRTC compiles.
#include "../framework/backend/cuda/fused/chains.h"
#include "../framework/backend/cuda/kernels/on_gpu.h"
#include "belfry/framework/backend/backend.h"

namespace belfry::cuda {
namespace {

Array run(const ChainCase& chain, const EvaluateOptions& options) {
  Graph graph;
  Node& node = build(graph, chain);
  std::map<std::string, Array> inputs;
  for (std::size_t n = 0; n < chain.inputs.size(); ++n)
    if (!chain.inputs[n].constant) inputs[concat("x", n)] = chain.inputs[n].value;
  return evaluate({Tensor(node)}, inputs, options)[0];
}

TEST(CompiledChains, AreTakenAndGiveWhatTheReferenceGives) {
  auto device = find_device("cuda:0");
  for (const ChainCase& chain : chain_cases()) {
    Graph graph;
    auto kernel = device->find_kernel(build(graph, chain), {});
    ASSERT_TRUE(kernel) << chain.name;
    EXPECT_EQ(kernel->implementation(), "nvrtc") << chain.name;
    Array got = run(chain, {.device = "cuda"});
    Array wanted = run(chain.in_f32(), {.fast = false}).cast(got.dtype());
    EXPECT_LE(relative_difference(got, wanted), allowed(got.dtype(), 8)) << chain.name;
  }
}

}  // namespace
}  // namespace belfry::cuda
