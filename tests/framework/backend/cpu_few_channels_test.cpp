#include "cpu_conv_testing.h"

namespace belfry::cpu {
namespace {

using Case = ConvCase;

const std::vector<Case> cases = {
    {{2, 16, 16, 3}, {4, 4, 3, 64}, Conv2dOptions{.stride = {2, 2}}},   // DCGAN's last layer
    {{1, 70, 40, 3}, {4, 4, 3, 64}, Conv2dOptions{.stride = {2, 2}}},   // in three bands
    {{2, 100, 700, 8}, {5, 5, 8, 3}, Conv2dOptions{.stride = {3, 1}}},  // of what fits the cache
    {{3, 5, 7, 3}, {2, 3, 3, 5}},
    {{3, 9, 6, 5}, {3, 2, 5, 7}, Conv2dOptions{.stride = {2, 3}, .padding = valid_padding}},
    {{2, 9, 8, 1}, {2, 2, 1, 17}, Conv2dOptions{.stride = {3, 3}}},  // pixels that nothing reads
    {{2, 6, 5, 4}, {3, 3, 4, 6}, Conv2dOptions{.padding = Padding::explicit_amounts(2, 0, 1, 3)}},
    {{2, 5, 5, 2}, {2, 2, 2, 3}, Conv2dOptions{.padding = Padding::explicit_amounts(4, 3, 5, 4)}},
    {{2, 6, 6, 2}, {1, 1, 2, 3}, Conv2dOptions{.stride = {2, 2}}},
    {{2, 28, 28, 1}, {5, 5, 1, 32}},  // first layer of LeNet
    {{2, 8, 8, 8}, {1, 1, 8, 8}, Conv2dOptions{.stride = {3, 3}, .padding = valid_padding}},
    {{1, 28, 28, 3}, {1, 1, 3, 16}, Conv2dOptions{.stride = {2, 2}}},
    {{1, 2, 1, 1}, {1, 1, 1, 1}},
};

Array run(const Node& node, const std::vector<Array>& inputs, int threads) {
  auto stream = find_device("cpu")->make_stream();
  auto kernel = find_kernel(node, threads);
  EXPECT_EQ(kernel->implementation(), "simd");
  return run_kernel(*kernel, node, packed(*kernel, inputs, *stream)).front();
}

TEST(CpuFewChannels, MatchesReferenceWithTheSameBitsOnAnyNumberOfThreads) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f16})
    for (const Case& c : cases) {
      std::vector<Array> inputs{random_array(c.output(), 1).cast(dtype),
                                random_array(c.kernel, 2).cast(dtype)};
      Graph graph;
      Tensor dx = conv_grad_input(inputs_like(graph, inputs), c);
      Array expected = run_kernel(*make_reference_kernel(dx.node()), dx.node(), inputs).front();
      for (const SimdLoops* loops : simd_choices()) {
        SCOPED_TRACE(concat(to_string(dx.node()), " on ", loops->isa));
        UsingSimd using_simd(*loops);
        Array alone = run(dx.node(), inputs, 1);
        double rounding = dtype == DType::f32 ? 64 : dtype == DType::bf16 ? 0x1p16 : 0x1p13;
        EXPECT_EQ(difference(expected, alone, rounding), "");
        for (int threads : {2, 3})
          EXPECT_TRUE(identical(alone, run(dx.node(), inputs, threads))) << threads << " threads";
      }
    }
}

TEST(CpuFewChannels, LeavesTheRestToOthers) {
  auto implementation = [](const Case& c) {
    Graph graph;
    Tensor dx = conv_grad_input({input(graph, "dy", {c.output(), DType::f32}),
                                 input(graph, "kernel", {c.kernel, DType::f32})},
                                c);
    return std::string(find_kernel(dx.node(), 1)->implementation());
  };
  EXPECT_EQ(implementation({{1, 8, 8, 8}, {3, 3, 8, 5}}), "simd");
  EXPECT_EQ(implementation({{1, 8, 8, 9}, {3, 3, 9, 5}}), "onednn");
  EXPECT_EQ(implementation({{1, 8, 8, 4}, {3, 3, 4, 5}, Conv2dOptions{.dilation = {1, 2}}}),
            "onednn");
  EXPECT_EQ(implementation({{1, 8, 8, 4}, {3, 3, 2, 4}, Conv2dOptions{.groups = 2}}), "onednn");
  EXPECT_EQ(implementation({{1, 1, 8, 8}, {1, 3, 8, 5}}), "onednn");  // a signal
  EXPECT_EQ(implementation({{1, 4, 1025, 2}, {3, 3, 2, 5}}), "onednn");
  EXPECT_EQ(implementation({{1, 4, 8, 8, 2}, {3, 3, 3, 2, 4}, Conv3dOptions{}}), "onednn");
}

}  // namespace
}  // namespace belfry::cpu
