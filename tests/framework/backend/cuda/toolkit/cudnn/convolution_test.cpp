// Covers toolkit/cudnn/convolution.cpp and graph.cpp as far as cuDNN goes without a GPU: it checks
// operations, and finds plans for a GPU that it is told about.
#include "belfry/framework/backend/cuda/toolkit/cudnn/convolution.h"

#include <gtest/gtest.h>

#include "belfry/framework/base/error.h"
#include "described_gpus.h"

namespace belfry::cuda {
namespace {

struct CudnnConvolution : testing::Test {
  void SetUp() override {
    try {
      library = std::make_shared<CudnnHandle>(described(h100));
    } catch (const Error& error) {
      GTEST_SKIP() << "this cuDNN wants GPUs described in another way: " << error.what();
    }
  }
  bool finds(const Convolution& c, bool bias = false, bool tf32 = true) {
    return find_plan(library, c, bias, tf32).has_value();
  }
  std::shared_ptr<CudnnHandle> library;
};

// [8, 56, 56, 64] and 3 x 3.
Convolution plain() {
  return {.batch = 8,
          .in_channels = 64,
          .out_channels = 128,
          .in_per_group = 64,
          .in = {56, 56},
          .out = {56, 56},
          .window = {3, 3},
          .stride = {1, 1},
          .dilation = {1, 1},
          .before = {1, 1},
          .after = {1, 1}};
}

// A stride with padding behind alone, as SAME has it for even sizes.
Convolution uneven() {
  Convolution c = plain();
  c.stride = {2, 2};
  c.out = {28, 28};
  c.before = {0, 0};
  return c;
}

Convolution depthwise() {
  Convolution c = plain();
  c.out_channels = 64;
  c.in_per_group = 1;
  return c;
}

Convolution grouped_and_dilated() {
  Convolution c = plain();
  c.in_per_group = 16;
  c.dilation = {2, 3};
  c.out = {54, 52};
  return c;
}

Convolution three_colours() {
  Convolution c = plain();
  c.in_channels = c.in_per_group = 3;
  c.in = {224, 224};
  c.out = {112, 112};
  c.window = {7, 7};
  c.stride = {2, 2};
  c.before = c.after = {3, 3};
  return c;
}

Convolution volume() {
  Convolution c = plain();
  for (Sizes* sizes : {&c.window, &c.stride, &c.dilation, &c.before, &c.after})
    sizes->push_back(sizes->back());
  c.in = c.out = {16, 16, 8};
  return c;
}

Convolution uneven_volume() {
  Convolution c = volume();
  c.stride = {1, 2, 2};
  c.out = {16, 8, 4};
  c.before = {1, 0, 0};
  return c;
}

Convolution dilated_volume() {
  Convolution c = volume();
  c.dilation = {1, 2, 3};
  c.before = c.after = {1, 2, 3};
  return c;
}

TEST_F(CudnnConvolution, LooksOnceForWhatIsTheSame) {
  EXPECT_TRUE(finds(plain()) && finds(plain()));
  EXPECT_EQ(library->found.size(), 1);
  // All that can differ, one at a time.
  std::vector<Convolution> others(12, plain());
  others[0].direction = ConvDirection::kernel;
  others[1].dtype = DType::bf16;
  others[2].batch = 7;
  others[3].in_channels = others[3].in_per_group = 32;
  others[4].out_channels = 64;
  others[5].in_per_group = 32;
  others[6].in = others[6].out = {28, 56};
  others[7].window = others[7].dilation = {1, 1}, others[7].before = others[7].after = {0, 0};
  others[8].stride = {2, 1}, others[8].out = {28, 56};
  others[9].dilation = others[9].before = others[9].after = {1, 2};
  others[10].before = {0, 1}, others[10].after = {2, 1};
  others[11].direction = ConvDirection::input, others[11].adds = true;
  for (const Convolution& c : others) finds(c);
  finds(plain(), true);
  finds(plain(), false, false);
  EXPECT_EQ(library->found.size(), 15);
  bool asked = false;
  auto operations = [&] {
    asked = true;
    return OperationGraph();
  };
  EXPECT_TRUE(GraphPlan::find(library, library->found.begin()->first, operations, {}));
  EXPECT_FALSE(asked);
}

TEST_F(CudnnConvolution, HasPlansForEveryDirectionAndType) {
  for (const Convolution& window : {plain(), uneven(), depthwise(), grouped_and_dilated(),
                                    three_colours(), volume(), uneven_volume(), dilated_volume()})
    for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64})
      for (ConvDirection direction :
           {ConvDirection::forward, ConvDirection::input, ConvDirection::kernel}) {
        Convolution c = window;
        c.direction = direction;
        c.dtype = dtype;
        EXPECT_TRUE(finds(c)) << to_string(dtype) << to_string(c.x())
                              << static_cast<int>(direction);
      }
}

TEST_F(CudnnConvolution, HasPlansThatAddToTheGradientOfAnInput) {
  for (Convolution c : {plain(), uneven(), depthwise(), grouped_and_dilated(), three_colours(),
                        volume(), uneven_volume(), dilated_volume()})
    for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64})
      for (bool tf32 : {true, false}) {
        c.direction = ConvDirection::input;
        c.dtype = dtype;
        c.adds = true;
        EXPECT_TRUE(finds(c, false, tf32)) << to_string(dtype) << to_string(c.x()) << tf32;
      }
}

TEST_F(CudnnConvolution, HasPlansWithoutTf32) {
  for (ConvDirection direction :
       {ConvDirection::forward, ConvDirection::input, ConvDirection::kernel}) {
    Convolution c = uneven();
    c.direction = direction;
    EXPECT_TRUE(finds(c, false, false)) << static_cast<int>(direction);
  }
}

// cuDNN's first choice copies both images.
TEST_F(CudnnConvolution, TakesAPlanThatNeedsLittleMemory) {
  Convolution c = plain();
  c.batch = 256;
  c.in = c.out = {224, 224};
  c.out_channels = 64;
  auto plan = find_plan(library, c, false, false);
  ASSERT_TRUE(plan);
  EXPECT_LE(plan->workspace(), std::size_t{256} << 20);
}

TEST_F(CudnnConvolution, HasPlansThatAddABias) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64}) {
    for (Convolution c : {plain(), volume()}) {
      c.dtype = dtype;
      EXPECT_TRUE(finds(c, true)) << to_string(dtype) << to_string(c.x());
    }
  }
}

TEST_F(CudnnConvolution, HasNoneForWholeNumbers) {
  Convolution c = plain();
  c.dtype = DType::i32;
  EXPECT_FALSE(finds(c));
}

// It reads the sizes as they are meant.
TEST_F(CudnnConvolution, SizesThatDoNotFitAreAnError) {
  Convolution window = uneven();
  window.out = {28, 29};
  EXPECT_THROW(finds(window), Error);
  Convolution padding = uneven();
  padding.after = {0, 1};
  EXPECT_THROW(finds(padding), Error);
  Convolution groups = plain();
  groups.in_per_group = 3;
  EXPECT_THROW(finds(groups), Error);
}

}  // namespace
}  // namespace belfry::cuda
