#include "belfry/framework/ops/autocast.h"

#include <gtest/gtest.h>

#include "belfry/framework/ops/ops.h"
#include "support.h"

namespace belfry {
namespace {

struct Autocast : ::testing::Test {
  Graph graph;
  Tensor x = input(graph, "x", {{2, 3}, DType::f32});
  Tensor w = input(graph, "w", {{3, 3}, DType::f32});
  Tensor product;
  void SetUp() override {
    graph.set_input_rule(autocast(DType::bf16));
    product = matmul(x, w);
  }
};

TEST_F(Autocast, ProductsAndConvolutionsAreNarrow) {
  EXPECT_EQ(product.dtype(), DType::bf16);
  Tensor image = input(graph, "image", {{1, 4, 4, 3}, DType::f32});
  Tensor kernel = input(graph, "kernel", {{3, 3, 3, 2}, DType::f32});
  EXPECT_EQ(conv2d(image, kernel).dtype(), DType::bf16);
  Tensor volume = reshape(image, {1, 4, 4, 1, 3}), voxels = reshape(kernel, {3, 3, 1, 3, 2});
  EXPECT_EQ(conv3d(volume, voxels).dtype(), DType::bf16);
  EXPECT_EQ(conv3d_transpose(volume, reshape(kernel, {3, 3, 1, 2, 3})).dtype(), DType::bf16);
}

TEST_F(Autocast, WhatFollowsKeepsTheTypeOfItsOperands) {
  EXPECT_EQ(relu(product).dtype(), DType::bf16);
  EXPECT_EQ((product + product).dtype(), DType::bf16);
  EXPECT_EQ((x + x).dtype(), DType::f32);
  EXPECT_EQ(reshape(product, {6}).dtype(), DType::bf16);
}

TEST_F(Autocast, TheWidestOfDifferentTypesIsTaken) {
  EXPECT_EQ((product + x).dtype(), DType::f32);
  EXPECT_EQ(concat({product, x}, 0).dtype(), DType::f32);
}

TEST_F(Autocast, SumsAndPowersAndSoftmaxAreWide) {
  EXPECT_EQ(sum(product).dtype(), DType::f32);
  EXPECT_EQ(mean(product).dtype(), DType::f32);
  EXPECT_EQ(exp(product).dtype(), DType::f32);
  EXPECT_EQ(softmax(product).dtype(), DType::f32);
}

TEST_F(Autocast, ParametersOfNormsStayAsTheyAre) {
  Tensor one = input(graph, "one", {{3}, DType::f32});
  BatchNormResult y = batch_norm_train(product, one, one, 1e-3);
  EXPECT_EQ(y.y.dtype(), DType::bf16);
  EXPECT_EQ(y.mean.dtype(), DType::f32);
}

TEST_F(Autocast, DoublesStayDoubles) {
  Tensor a = input(graph, "a", {{2, 2}, DType::f64});
  EXPECT_EQ(matmul(a, a).dtype(), DType::f64);
}

TEST_F(Autocast, GradientsHaveTheTypeOfWhatTheyAreOf) {
  Tensor loss = sum(relu(product));
  Tensor of_w = gradients(loss, std::vector{w})[0];
  EXPECT_EQ(of_w.type(), w.type());
  // relu' is 1 everywhere: each column of the gradient is the column sums of x, in bf16.
  auto result = evaluate(
      {of_w, product},
      {{"x", Array::of({1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}, {2, 3})},
       {"w", Array::of({1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.00390625f}, {3, 3})}});
  for (std::int64_t column = 0; column < 3; ++column) {
    EXPECT_EQ(result[0].at(column), 5);
    EXPECT_EQ(result[0].at(6 + column), 9);
  }
  EXPECT_EQ(result[1].at(2), 6);  // 1.00390625 is 1 in bf16
}

TEST_F(Autocast, AModelMayTakeGradientsItself) {
  Tensor bias = cast(input(graph, "bias", {{3}, DType::f32}), DType::bf16);
  Tensor y = product + bias;
  EXPECT_EQ(gradients(sum(y), std::vector{bias})[0].type(), bias.type());
  EXPECT_EQ(matmul(x, w).dtype(), DType::bf16);  // the rule is back
}

}  // namespace
}  // namespace belfry
