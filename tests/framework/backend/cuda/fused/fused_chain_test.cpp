// Covers kernels/elementwise/fused_chain.h and what fused_source.cpp writes, compiled as plain C++:
// kernels run block by block, and give bit for bit what the ops' reference kernels give one after
// the other.
#include <gtest/gtest.h>

#include "../emulated/blocks.h"
#include "belfry/framework/backend/cuda/fused_source.h"
#include "chains.h"
#include "compiled_chains.h"

namespace belfry::cuda {
namespace {

Array by_reference(const ChainCase& chain) {
  Graph graph;
  Node& node = build(graph, chain);
  std::vector<ArrayView> views;
  std::vector<Array> values;
  for (const ChainInput& input : chain.inputs) values.push_back(input.value);
  for (Array& value : values) views.push_back({value.type(), value.raw()});
  Array result(node.output());
  ArrayView out{result.type(), result.raw()};
  node.op().reference({node.op().name, views, {&out, 1}, node.options()});
  return result;
}

/// With the output in memory of its own, or in that of an input that has its type.
Array by_kernel(const ChainCase& chain, CompiledChain kernel, int in_place = -1) {
  Graph graph;
  Node& node = build(graph, chain);
  FusedSource source = fused_source(node).value();
  std::vector<Array> values;
  for (const ChainInput& input : chain.inputs) values.push_back(input.value.clone());
  std::vector<void*> addresses;
  // An input that is known when the kernel is compiled is not read.
  for (std::size_t n = 0; n < values.size(); ++n)
    addresses.push_back(chain.inputs[n].constant ? nullptr : values[n].raw());
  Array result = in_place < 0 ? Array(node.output()) : values[static_cast<std::size_t>(in_place)];
  void* out = result.raw();
  FusedArguments arguments = source.at({addresses, {&out, 1}, nullptr});
  emulated::run_blocks(source.shape, [&] { kernel(arguments); });
  return result;
}

TEST(FusedChain, GivesWhatTheReferenceGives) {
  ASSERT_EQ(compiled_chains().size(), chain_cases().size());
  for (std::size_t n = 0; n < chain_cases().size(); ++n) {
    const ChainCase& chain = chain_cases()[n];
    Array got = by_kernel(chain, compiled_chains()[n]);
    EXPECT_TRUE(identical(got, by_reference(chain.in_f32()).cast(got.dtype()))) << chain.name;
  }
}

TEST(FusedChain, MayOverwriteAnInput) {
  int tried = 0;
  for (std::size_t n = 0; n < chain_cases().size(); ++n) {
    const ChainCase& chain = chain_cases()[n];
    Array apart = by_kernel(chain, compiled_chains()[n]);
    for (std::size_t i = 0; i < chain.inputs.size(); ++i) {
      if (chain.inputs[i].type != apart.type() || chain.inputs[i].constant) continue;
      ++tried;
      EXPECT_TRUE(identical(by_kernel(chain, compiled_chains()[n], static_cast<int>(i)), apart))
          << chain.name << ", input " << i;
    }
  }
  EXPECT_GT(tried, 40);
}

}  // namespace
}  // namespace belfry::cuda
