// Covers window_attention.cpp, swin.cpp and unet_swin.cpp.
#include "belfry/models/images/swin.h"

#include <gmock/gmock.h>

#include <cmath>

#include "../../framework/base/error_of.h"
#include "../forward.h"
#include "belfry/models/images/window_attention.h"
#include "belfry/models/unet/unet_swin.h"

namespace belfry::models {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t n = 2, side = 4, c = 4, heads = 2, window = 2;

// In double, from the image as it stands: a pixel attends to those of its window (after moving by
// `shift`) that are less than a window away in the image itself.
class ByLoops {
 public:
  ByLoops(const Array& x, const Forward& network, std::int64_t shift)
      : x_(x), v_(network), shift_(shift) {}

  double at(std::int64_t i, std::int64_t row, std::int64_t column, std::int64_t channel) const {
    double out = v_("a/output/bias", channel);
    for (std::int64_t from = 0; from < c; ++from)
      out += attended(i, row, column, from) * v_("a/output/kernel", from * c + channel);
    return out;
  }

 private:
  std::int64_t window_of(std::int64_t place) const {
    return (place - shift_ + side) % side / window;
  }
  bool together(std::int64_t a, std::int64_t b) const {
    return window_of(a) == window_of(b) && std::abs(a - b) < window;
  }

  double dense(const std::string& name, std::int64_t i, std::int64_t row, std::int64_t column,
               std::int64_t unit) const {
    double out = v_("a/" + name + "/bias", unit);
    for (std::int64_t from = 0; from < c; ++from)
      out += x_.at(((i * side + row) * side + column) * c + from)
             * v_("a/" + name + "/kernel", from * c + unit);
    return out;
  }

  double attended(std::int64_t i, std::int64_t row, std::int64_t column,
                  std::int64_t channel) const {
    std::int64_t width = c / heads, head = channel / width;
    double sum = 0, weights = 0;
    for (std::int64_t r = 0; r < side; ++r)
      for (std::int64_t k = 0; k < side; ++k) {
        if (!together(row, r) || !together(column, k)) continue;
        double score = 0;
        for (std::int64_t d = head * width; d < (head + 1) * width; ++d)
          score += dense("query", i, row, column, d) * dense("key", i, r, k, d);
        std::int64_t difference =
            (row - r + window - 1) * (2 * window - 1) + column - k + window - 1;
        score = score / std::sqrt(width) + v_("a/bias_table", difference * heads + head);
        weights += std::exp(score);
        sum += std::exp(score) * dense("value", i, r, k, channel);
      }
    return sum / weights;
  }

  const Array& x_;
  const Forward& v_;
  std::int64_t shift_;
};

TEST(WindowAttention, EqualsLoopsInDouble) {
  Array x = random_array({n, side, side, c});
  for (std::int64_t shift : {0, 1}) {
    Forward network(x, [&](const Scope& s, Tensor t) {
      return window_attention(s / "a", t, {.heads = heads, .window = window, .shift = shift});
    });
    ByLoops expected(x, network, shift);
    std::int64_t index = 0;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t row = 0; row < side; ++row)
        for (std::int64_t column = 0; column < side; ++column)
          for (std::int64_t channel = 0; channel < c; ++channel)
            ASSERT_NEAR(network.y.at(index++), expected.at(i, row, column, channel), 1e-5)
                << "shift " << shift << " at " << index - 1;
  }
}

TEST(Roll, GoesRoundInBothAxes) {
  Array x = Array::of<float>({0, 1, 2, 3, 4, 5, 6, 7, 8}, {1, 3, 3, 1});
  auto rolled = [&](std::int64_t shift) {
    Forward network(x, [&](const Scope&, Tensor t) { return roll(t, shift); });
    auto y = network.y.span<float>();
    return std::vector<float>(y.begin(), y.end());
  };
  EXPECT_THAT(rolled(1), testing::ElementsAre(4, 5, 3, 7, 8, 6, 1, 2, 0));
  EXPECT_THAT(rolled(-1), testing::ElementsAre(8, 6, 7, 2, 0, 1, 5, 3, 4));
}

// The pixels of a row after `blocks` blocks that see another pixel (1, 1), first row first. What
// they see moves them by more than the rounding of a product, which may depend on the place of a
// row.
std::string seen(std::int64_t blocks) {
  Array x = random_array({2, side, side, c});
  for (std::int64_t i = 0; i < side * side * c; ++i)
    x.span<float>()[static_cast<std::size_t>(side * side * c + i)] =
        x.span<float>()[static_cast<std::size_t>(i)] + (i / c == side + 1 ? 0.5f * (i % 2) : 0.0f);
  Forward network(x, [&](const Scope& s, Tensor t) {
    return swin_blocks(s, t, blocks, heads, {.window = window, .mlp = 1});
  });
  std::string out;
  for (std::int64_t pixel = 0; pixel < side * side; ++pixel) {
    bool differs = false;
    for (std::int64_t k = 0; k < c; ++k)
      differs |= std::abs(network.y.at(pixel * c + k) - network.y.at((side * side + pixel) * c + k))
                 > 1e-5;
    out += differs ? 'x' : '.';
    if (pixel % side == side - 1) out += '\n';
  }
  return out;
}

TEST(SwinBlocks, EveryOtherOneMovesItsWindows) {
  EXPECT_EQ(seen(1), "xx..\nxx..\n....\n....\n");
  EXPECT_EQ(seen(2), "xxx.\nxxx.\nxxx.\n....\n");
}

// (v - mean) / sqrt(variance + 1e-5) * scale + offset.
std::vector<double> normed(std::vector<double> v, const Forward& network, const std::string& name) {
  double mean = 0, variance = 0;
  auto size = static_cast<double>(v.size());
  for (double x : v) mean += x / size;
  for (double x : v) variance += (x - mean) * (x - mean) / size;
  for (std::size_t i = 0; i < v.size(); ++i)
    v[i] = (v[i] - mean) / std::sqrt(variance + 1e-5)
               * network(name + "/scale", static_cast<std::int64_t>(i))
           + network(name + "/offset", static_cast<std::int64_t>(i));
  return v;
}

TEST(MergePatches, TakesPixelsDownBeforeRight) {
  Array x = random_array({1, 4, 2, 3});
  Forward network(x, [](const Scope& s, Tensor t) { return merge_patches(s / "m", t); });
  ASSERT_EQ(network.y.shape(), Shape({1, 2, 1, 6}));
  for (std::int64_t row = 0; row < 2; ++row) {
    std::vector<double> pixels;
    for (auto [down, right] : {std::pair(0, 0), {1, 0}, {0, 1}, {1, 1}})
      for (std::int64_t k = 0; k < 3; ++k)
        pixels.push_back(x.at(((2 * row + down) * 2 + right) * 3 + k));
    pixels = normed(pixels, network, "m/norm");
    for (std::int64_t unit = 0; unit < 6; ++unit) {
      double expected = 0;
      for (std::int64_t i = 0; i < 12; ++i)
        expected += pixels[static_cast<std::size_t>(i)] * network("m/reduce/kernel", i * 6 + unit);
      EXPECT_NEAR(network.y.at(row * 6 + unit), expected, 1e-5);
    }
  }
}

TEST(ExpandPatches, LaysUnitsOutRowByRow) {
  Array x = random_array({1, 1, 2, 3});
  Forward network(x, [](const Scope& s, Tensor t) { return expand_patches(s / "e", t, 2, 2); });
  ASSERT_EQ(network.y.shape(), Shape({1, 2, 4, 2}));
  for (std::int64_t row = 0; row < 2; ++row)
    for (std::int64_t column = 0; column < 4; ++column) {
      std::vector<double> pixel(2, 0.0);
      for (std::int64_t k = 0; k < 2; ++k)
        for (std::int64_t i = 0; i < 3; ++i)
          pixel[static_cast<std::size_t>(k)] +=
              x.at(column / 2 * 3 + i)
              * network("e/expand/kernel", i * 8 + (row * 2 + column % 2) * 2 + k);
      pixel = normed(pixel, network, "e/norm");
      for (std::int64_t k = 0; k < 2; ++k)
        EXPECT_NEAR(network.y.at((row * 4 + column) * 2 + k), pixel[static_cast<std::size_t>(k)],
                    1e-4);
    }
}

// Swin-T of the paper's program.
TEST(Swin, HasThePublishedParameters) {
  EXPECT_EQ(parameter_count(swin_tiny(), random_images({1, 224, 224, 3}, 1000)), 28'288'354);
}

const SwinOptions small{.classes = 3,
                        .channels = 4,
                        .blocks = {1, 2},
                        .heads = {1, 2},
                        .window = 2,
                        .patch = 2,
                        .mlp = 2};

TEST(Swin, HalvesFromStageToStage) {
  Graph graph;
  Batch batch(graph, {{"image", {{2, 16, 8, 1}, DType::f32}}});
  std::vector<Tensor> features = swin_features(Scope(graph), batch["image"], small);
  ASSERT_EQ(features.size(), 2u);
  EXPECT_EQ(features[0].shape(), Shape({2, 8, 4, 4}));
  EXPECT_EQ(features[1].shape(), Shape({2, 4, 2, 8}));
}

TEST(Swin, WhatDoesNotFitIsRefused) {
  auto features = [](const Shape& image, const SwinOptions& o) {
    return error_of([&] {
      Graph graph;
      Batch batch(graph, {{"image", {image, DType::f32}}});
      swin_features(Scope(graph) / "encoder", batch["image"], o);
    });
  };
  EXPECT_THAT(features({1, 16, 15, 1}, small),
              HasSubstr("axis 2 of f32[1, 16, 15, 1] is no multiple of 4, as patches of 2 need in "
                        "2 stages; pad or crop it (at encoder)"));
  EXPECT_THAT(features({1, 12, 12, 1}, {.window = 1, .patch = 4}),
              HasSubstr("axis 1 of f32[1, 12, 12, 1] is no multiple of 32"));
  EXPECT_THAT(features({1, 16, 16, 1}, {.heads = {3}}), HasSubstr("4 stages, but heads of 1"));
  EXPECT_THAT(features({1, 32, 32, 1}, {.channels = 4, .heads = {3, 3, 3, 3}, .window = 8}),
              HasSubstr("3 heads do not divide"));
}

// 512 x 512 has stages of 128, 64, 32 and 16 pixels a side.
TEST(Swin, WindowsThatDoNotFitAreToldWithSizesThatDo) {
  auto error = [](const Shape& image, const SwinOptions& o) {
    return error_of([&] {
      Graph graph;
      Batch batch(graph, {{"image", {image, DType::f32}}});
      swin_features(Scope(graph) / "encoder", batch["image"], o);
    });
  };
  SwinOptions tiny{.channels = 4, .blocks = {1, 1, 1, 1}, .heads = {1, 1, 1, 1}};
  EXPECT_EQ(error({1, 512, 512, 3}, tiny),
            "swin: windows of 7 do not fit f32[1, 512, 512, 3]; sides that are multiples of 224 "
            "fit, as 448 x 448 or 672 x 672, and so do windows of 8 for this size (at encoder)");
  tiny.window = 8;
  for (const Shape& fitting : {Shape{1, 512, 512, 3}, Shape{1, 256, 512, 3}, Shape{1, 32, 32, 3}})
    EXPECT_EQ(error(fitting, tiny), "no error") << to_string(fitting);
  tiny.window = 7;
  for (const Shape& fitting : {Shape{1, 448, 448, 3}, Shape{1, 672, 224, 3}})
    EXPECT_EQ(error(fitting, tiny), "no error") << to_string(fitting);
  EXPECT_THAT(error({1, 96, 64, 3}, tiny),
              HasSubstr("fit, as 224 x 224, and so do windows of 1 for"));
}

TEST(Swin, LearnsLabelsByHeart) {
  SwinOptions o = small;
  o.optimizer = adam({.learning_rate = 0.01});
  Estimator estimator({.model_fn = swin_tiny(o), .model_dir = new_folder(), .run = quiet()});
  InputFn input = random_images({3, 8, 8, 1}, 3);
  estimator.train(input, {.steps = 60});
  EXPECT_EQ(estimator.evaluate(input, {.steps = 1}).at("accuracy"), 1);
}

}  // namespace
}  // namespace belfry::models
