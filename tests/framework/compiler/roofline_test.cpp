#include "belfry/framework/compiler/roofline.h"

#include "compiler_testing.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;

const DeviceLimits limits{.bytes = 1e9, .flops = 1e12, .flops_tf32 = 4e12, .flops_16 = 8e12};

TEST(Roofline, CountsWhatAKernelReadsWritesAndComputes) {
  Graph graph;
  Tensor a = f32(graph, "a", {64, 256}), b = f32(graph, "b", {256, 512});
  std::shared_ptr<const Plan> plan = plan_of({matmul(a, b)});
  ASSERT_EQ(plan->instructions.size(), 1);
  Work work = work_of(plan->instructions[0]);
  EXPECT_EQ(work.bytes, 4 * (64 * 256 + 256 * 512 + 64 * 512));
  EXPECT_EQ(work.flops, 2.0 * 64 * 256 * 512);
  EXPECT_TRUE(is_product(plan->instructions[0]));
}

TEST(Roofline, OfATableTheRowsThatAreReadCount) {
  Graph graph;
  Tensor table = f32(graph, "table", {1000000, 16});
  Tensor rows = gather(table, input(graph, "rows", {{10}, DType::i64}));
  EXPECT_EQ(bytes_touched(rows.node()), 2 * 4 * 10 * 16);
}

TEST(Roofline, WhatSumsAreMadeOfIsReadTwice) {
  Graph graph;
  Tensor x = f32(graph, "x", {64, 8}), channel = f32(graph, "channel", {8});
  Tensor y = batch_norm_train(x, channel, channel).y;
  // x twice, y once, five vectors.
  EXPECT_EQ(bytes_touched(y.node()), 4 * (3 * 64 * 8 + 5 * 8));
  std::vector<Tensor> xs{x};
  Tensor dx = gradients(y, xs, f32(graph, "dy", {64, 8}))[0];
  // dy and x twice, dx once, three vectors twice and two once.
  EXPECT_EQ(bytes_touched(dx.node()), 4 * (5 * 64 * 8 + 8 * 8));
}

TEST(Roofline, TheLongerOfBytesAndOperationsCounts) {
  Graph graph;
  auto seconds = [&](DType dtype, std::int64_t n, bool tf32) {
    Tensor a = input(graph, concat("a", n, dtype, tf32), {{n, n}, dtype});
    std::shared_ptr<const Plan> plan = plan_of({matmul(a, a)}, /*fast=*/false);
    return least_seconds(plan->instructions.back(), limits, tf32);
  };
  // 2 n^3 operations, 3 n^2 elements.
  EXPECT_DOUBLE_EQ(seconds(DType::f32, 10000, false), 2e12 / 1e12);
  EXPECT_DOUBLE_EQ(seconds(DType::f32, 10000, true), 12e8 / 1e9);
  EXPECT_DOUBLE_EQ(seconds(DType::f32, 100000, true), 2e15 / 4e12);
  EXPECT_DOUBLE_EQ(seconds(DType::bf16, 100000, true), 2e15 / 8e12);
  EXPECT_DOUBLE_EQ(seconds(DType::bf16, 100, true), 6e4 / 1e9);
}

TEST(Roofline, SumsAPlan) {
  Graph graph;
  Tensor a = f32(graph, "a", {100, 100});
  auto compiled = std::const_pointer_cast<Plan>(plan_of({softmax(matmul(a, a))}, /*fast=*/false));
  Plan& plan = *compiled;  // of a CPU, whose limits are not known
  Roofline without = roofline_of(plan);
  EXPECT_EQ(without.products.flops, 2e6);
  EXPECT_EQ(without.others.bytes, 8e4);
  EXPECT_EQ(without.product_seconds, 0);
  EXPECT_THAT(explain(plan),
              HasSubstr("work: products and convolutions 0.002 GFLOP, all else 0.080 MB\n"));
  plan.limits = limits;
  plan.tf32 = false;
  Roofline with = roofline_of(plan);
  EXPECT_DOUBLE_EQ(with.product_seconds, 1.2e5 / 1e9);
  EXPECT_DOUBLE_EQ(with.other_seconds, 8e4 / 1e9);
  EXPECT_THAT(explain(plan),
              HasSubstr("at least 0.200 ms a step: products and convolutions 0.002 GFLOP in 0.120 "
                        "ms, all else 0.080 MB in 0.080 ms (0.00 TB/s, TFLOP/s of f32 1, tf32 4, "
                        "16 bits 8)\n"));
}

}  // namespace
}  // namespace belfry
