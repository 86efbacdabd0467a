#include "belfry/framework/backend/cpu/onednn/onednn_primitive.h"
#include "cpu_onednn_testing.h"

namespace belfry::cpu {
namespace {

using Tag = dnnl::memory::format_tag;
constexpr auto f32 = dnnl::memory::data_type::f32;

TEST(CpuOnednnPrimitive, LayoutTextNamesAllThatDecidesTheLayout) {
  EXPECT_EQ(layout_text({{5, 3}, f32, Tag::ba}),
            "onednn f32 dims 5,3 padded 5,3 strides 1,5 blocks  of  bytes 60");
  EXPECT_EQ(layout_text({{20, 3, 1, 1}, f32, Tag::OIhw16o16i}),
            "onednn f32 dims 20,3,1,1 padded 32,16,1,1 strides 256,256,256,256 blocks 16,16 of 0,1 "
            "bytes 2048");
}

TEST(CpuOnednnPrimitive, PacksOnlyWhatHasAnotherLayout) {
  dnnl::memory::desc plain({5, 3}, f32, Tag::ab), turned({5, 3}, f32, Tag::ba);
  EXPECT_TRUE(pack_input("matmul", 1, plain, plain).empty());
  auto packed = pack_input("matmul", 1, plain, turned);
  ASSERT_EQ(packed.size(), 1u);
  EXPECT_EQ(packed[0].input, 1);
  EXPECT_EQ(packed[0].size, Bytes(60));
  Array from = Array::of<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}),
        to(from.type());
  auto stream = find_device("cpu")->make_stream();
  packed[0].pack->run({std::vector<void*>{from.raw()}, std::vector<void*>{to.raw()}}, *stream);
  EXPECT_THAT(to.span<float>(),
              ::testing::ElementsAre(1, 4, 7, 10, 13, 2, 5, 8, 11, 14, 3, 6, 9, 12, 15));
}

TEST(CpuOnednnPrimitive, FailuresNameOpAndStatus) {
  auto expect = [](auto&& body, const std::string& message) {
    try {
      body();
      FAIL() << "no Error; expected " << message;
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), message);
    }
  };
  expect([] { fail_onednn("conv2d", "run the primitive", dnnl_out_of_memory); },
         "conv2d: oneDNN could not run the primitive: out_of_memory");
  Graph graph;
  Tensor x = input(graph, "x", {{1}, DType::f32});
  auto with = [&](dnnl_status_t status) {
    return make_onednn_kernel(
        x.node(), 1, [&]() -> std::unique_ptr<Kernel> { throw dnnl::error(status, "no"); });
  };
  EXPECT_EQ(with(dnnl_unimplemented), nullptr);
  expect([&] { with(dnnl_runtime_error); },
         "input: oneDNN could not prepare the primitive: runtime_error");
}

TEST(CpuOnednnPrimitive, ReferencesFor16BitsAreSlowerThanF32) {
  for (bool instructions : {false, true}) {
    for (const char* slow : {"ref:any", "simple:any"}) {
      EXPECT_TRUE(slower_than_f32(DType::bf16, slow, instructions)) << slow;
      EXPECT_FALSE(slower_than_f32(DType::f32, slow, instructions))
          << slow;  // nothing else is there
    }
    for (const char* fast : {"brgconv:avx512_core_bf16", "jit_bf16:avx512_core"})
      EXPECT_FALSE(slower_than_f32(DType::bf16, fast, instructions)) << fast;
    for (const char* product : {"gemm:jit", "x64:gemm:jit"}) {
      EXPECT_EQ(slower_than_f32(DType::bf16, product, instructions), !instructions) << product;
      EXPECT_FALSE(slower_than_f32(DType::f32, product, instructions)) << product;
    }
  }
}

}  // namespace
}  // namespace belfry::cpu
