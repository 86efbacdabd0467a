// Covers resnest.cpp and unet_resnest.cpp.
#include "belfry/models/images/resnest.h"

#include <gmock/gmock.h>

#include <cmath>

#include "../../framework/base/error_of.h"
#include "../forward.h"
#include "belfry/models/unet/unet_resnest.h"

namespace belfry::models {
namespace {

using ::testing::HasSubstr;

// ResNeSt-50 of the authors' program.
TEST(Resnest, HasThePublishedParameters) {
  EXPECT_EQ(parameter_count(resnest50(), random_images({1, 32, 32, 3}, 1000)), 27'483'240);
}

// In double: per group and channel, a softmax over the splits. With c channels, in `groups` groups,
// the second layer's units are group by group, in each split by split.
TEST(SplitAttention, EqualsLoopsInDouble) {
  constexpr std::int64_t pixels = 4, c = 6, radix = 3, groups = 2, hidden = 32;
  Array x = random_array({2, 2, 2, radix * c});
  Forward network(x, [](const Scope& s, Tensor t) {
    return split_attention(s / "a", t, {.radix = radix, .groups = groups});
  });
  ASSERT_EQ(network.y.shape(), Shape({2, 2, 2, c}));
  for (std::int64_t i = 0; i < 2; ++i) {
    auto at = [&](std::int64_t pixel, std::int64_t split, std::int64_t channel) {
      return x.at((i * pixels + pixel) * radix * c + split * c + channel);
    };
    std::vector<double> h(hidden);
    for (std::int64_t unit = 0; unit < hidden; ++unit) {
      std::int64_t group = unit / (hidden / groups);
      double sum = network("a/first/bias", unit);
      for (std::int64_t k = 0; k < c / groups; ++k)
        for (std::int64_t pixel = 0; pixel < pixels; ++pixel)
          for (std::int64_t r = 0; r < radix; ++r)
            sum += at(pixel, r, group * (c / groups) + k) / pixels
                   * network("a/first/kernel", k * hidden + unit);
      sum = (sum - network("a/norm/moving_mean", unit))
                / std::sqrt(network("a/norm/moving_variance", unit) + 1e-5)
                * network("a/norm/scale", unit)
            + network("a/norm/offset", unit);
      h[static_cast<std::size_t>(unit)] = std::max(sum, 0.0);
    }
    for (std::int64_t channel = 0; channel < c; ++channel) {
      std::int64_t group = channel / (c / groups);
      std::vector<double> weight(radix);
      double total = 0;
      for (std::int64_t r = 0; r < radix; ++r) {
        std::int64_t unit = (group * radix + r) * (c / groups) + channel % (c / groups);
        double score = network("a/second/bias", unit);
        for (std::int64_t k = 0; k < hidden / groups; ++k)
          score += h[static_cast<std::size_t>(group * (hidden / groups) + k)]
                   * network("a/second/kernel", k * c * radix + unit);
        total += weight[static_cast<std::size_t>(r)] = std::exp(score);
      }
      for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
        double expected = 0;
        for (std::int64_t r = 0; r < radix; ++r)
          expected += at(pixel, r, channel) * weight[static_cast<std::size_t>(r)] / total;
        EXPECT_NEAR(network.y.at((i * pixels + pixel) * c + channel), expected, 2e-5);
      }
    }
  }
}

const ResnestOptions small{.classes = 2, .blocks = {1, 2}, .filters = 4};

TEST(Resnest, HalvesFromStageToStage) {
  Graph graph;
  Batch batch(graph, {{"image", {{2, 16, 24, 1}, DType::f32}}});
  std::vector<Tensor> features = resnest_features(Scope(graph), batch["image"], small, Mode::train);
  ASSERT_EQ(features.size(), 3u);
  EXPECT_EQ(features[0].shape(), Shape({2, 8, 12, 4}));
  EXPECT_EQ(features[1].shape(), Shape({2, 4, 6, 16}));
  EXPECT_EQ(features[2].shape(), Shape({2, 2, 3, 32}));
}

TEST(Resnest, LearnsLabelsByHeart) {
  ResnestOptions o = small;
  o.optimizer = adam({.learning_rate = 0.01}), o.batch_norm_momentum = 0.5;
  Estimator estimator({.model_fn = resnest50(o), .model_dir = new_folder(), .run = quiet()});
  InputFn input = random_images({4, 16, 16, 1}, 2);
  estimator.train(input, {.steps = 30});
  EXPECT_EQ(estimator.evaluate(input, {.steps = 1}).at("accuracy"), 1);
}

TEST(Resnest, WhatDoesNotFitIsRefused) {
  auto error = [](const Shape& image, const ResnestOptions& o) {
    return error_of([&] {
      Graph graph;
      Batch batch(graph, {{"image", {image, DType::f32}}});
      resnest_features(Scope(graph) / "encoder", batch["image"], o, Mode::train);
    });
  };
  EXPECT_THAT(error({1, 16, 12, 1}, small),
              HasSubstr("resnest: axis 2 of f32[1, 16, 12, 1] is no multiple of 8, as 3 halvings "
                        "need; pad or crop it (at encoder)"));
  EXPECT_THAT(error({1, 16, 16}, small), HasSubstr("expected [n, h, w, c], got f32[1, 16, 16]"));
  EXPECT_THAT(error({1, 8, 8, 1}, {.blocks = {1, 0}}), HasSubstr("a block, got [1, 0]"));
  EXPECT_THAT(error({1, 8, 8, 1}, {.blocks = {1}, .radix = 1}), HasSubstr("a radix of 1"));
  EXPECT_THAT(
      error({1, 8, 8, 1}, {.blocks = {1}, .filters = 6, .groups = 2}),
      HasSubstr("6 filters; expected an even number and a multiple of 2 x 2, radix times groups"));
}

}  // namespace
}  // namespace belfry::models
