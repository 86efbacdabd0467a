// Numbers of known models.

#include "belfry/framework/train/model_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "belfry/models/images/lenet.h"
#include "belfry/models/images/resnet.h"

namespace belfry {
namespace {

// torchvision's documentation of resnet50 gives 25,557,032 parameters and 4.09 GFLOPS at 224 x 224,
// where a multiply-add is one operation; its convolutions and the last layer have 4,089,184,256.
TEST(ModelSummary, OfResNet50) {
  Signature images{{"image", {{2, 224, 224, 3}, DType::f32}}};
  ModelSummary found = summarize(models::resnet50(), Mode::predict, images);
  EXPECT_EQ(found.parameters.elements, 25'557'032);
  double convolutions = 0;
  for (const LayerSummary& layer : found.layers)
    if (layer.ops[0] == "conv2d") convolutions += layer.flops;
  EXPECT_EQ(convolutions, 2 * (4'089'184'256 - 2048 * 1000));
  // With normalisations, activations and the like.
  EXPECT_GT(found.flops, 2 * 4.09e9);
  EXPECT_LT(found.flops, 2 * 4.12e9);
  std::string table = to_string(found);
  for (std::size_t begin = 0, end; begin < table.size(); begin = end + 1) {
    end = table.find('\n', begin);
    EXPECT_LE(end - begin, 80u) << table.substr(begin, end - begin);
  }
}

// 28 x 28 pictures through 5 x 5 kernels, halved twice.
TEST(ModelSummary, OfLeNet) {
  Signature images{{"image", {{4, 28, 28, 1}, DType::f32}}, {"label", {{4}, DType::i64}}};
  ModelSummary found = summarize(models::lenet({}), Mode::predict, images);
  EXPECT_EQ(found.parameters.elements,
            25 * 32 + 32 + 25 * 32 * 64 + 64 + 7 * 7 * 64 * 1024 + 1024 + 1024 * 10 + 10);
  double conv1 = 28 * 28 * 32 * (2 * 25 + 2) + 14 * 14 * 32 * 4;  // with bias, relu and pool
  double conv2 = 14 * 14 * 64 * (2 * 25 * 32 + 2) + 7 * 7 * 64 * 4;
  double fc1 = 1024 * (2.0 * 3136 + 2), fc2 = 10 * (2.0 * 1024 + 1);
  EXPECT_EQ(found.layers[0].flops, conv1);
  EXPECT_EQ(found.layers[1].flops, conv2);
  EXPECT_EQ(found.layers[2].flops, fc1);
  EXPECT_GE(found.layers[3].flops, fc2);
  EXPECT_LE(found.layers[3].flops, fc2 + 100);  // what is said of the digits
}

}  // namespace
}  // namespace belfry
