// Covers resize_nearest.cpp, resize_bilinear.cpp, their gradients and resize_geometry.cpp.
#include "../nn_support.h"

namespace belfry::testing {
namespace {

Tensor row(Graph& graph, std::vector<float> elements) {
  auto n = static_cast<std::int64_t>(elements.size());
  return floats(graph, {1, 1, n, 1}, std::move(elements));
}

TEST(ResizeNearest, HalfPixelCentres) {
  Graph graph;
  EXPECT_THAT(values(resize_nearest(row(graph, {1, 2}), {.size = {1, 4}})),
              ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(values(resize_nearest(row(graph, {1, 2, 3}), {.size = {1, 2}})), ElementsAre(1, 3));
  // Centres at 1 and 3 lie between two elements: the higher is taken.
  EXPECT_THAT(values(resize_nearest(row(graph, {1, 2, 3, 4}), {.size = {1, 2}})),
              ElementsAre(2, 4));
  EXPECT_THAT(values(resize_nearest(row(graph, {1, 2}), {.size = {2, 3}})),
              ElementsAre(1, 2, 2, 1, 2, 2));
}

TEST(ResizeNearest, AlignedCorners) {
  Graph graph;
  EXPECT_THAT(values(resize_nearest(row(graph, {1, 2}), {{1, 3}, true})), ElementsAre(1, 2, 2));
  EXPECT_THAT(values(resize_nearest(row(graph, {1, 2, 3, 4}), {{1, 2}, true})), ElementsAre(1, 4));
  EXPECT_THAT(values(resize_nearest(row(graph, {1, 2, 3}), {{1, 1}, true})), ElementsAre(1));
}

TEST(ResizeNearest, IntegersToo) {
  Graph graph;
  Tensor x = constant(graph, Array::of<std::uint8_t>({1, 2, 3, 4}, {1, 2, 1, 2}));
  Tensor y = resize_nearest(x, {.size = {2, 2}});
  EXPECT_EQ(y.dtype(), DType::u8);
  EXPECT_THAT(values(y), ElementsAre(1, 2, 1, 2, 3, 4, 3, 4));
}

TEST(ResizeBilinear, HalfPixelCentres) {
  Graph graph;
  EXPECT_THAT(values(resize_bilinear(row(graph, {0, 4}), {.size = {1, 4}})),
              ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(values(resize_bilinear(row(graph, {0, 4, 6, 10}), {.size = {1, 2}})),
              ElementsAre(2, 8));
}

TEST(ResizeBilinear, AlignedCorners) {
  Graph graph;
  EXPECT_THAT(values(resize_bilinear(row(graph, {0, 4}), {{1, 3}, true})), ElementsAre(0, 2, 4));
  EXPECT_THAT(values(resize_bilinear(row(graph, {5, 4}), {{1, 1}, true})), ElementsAre(5));
}

TEST(ResizeBilinear, BothAxes) {
  Graph graph;
  Tensor x = floats(graph, {1, 2, 2, 1}, {0, 4, 8, 16});
  EXPECT_THAT(values(resize_bilinear(x, {{3, 3}, true})),
              ElementsAre(0, 2, 4, 4, 7, 10, 8, 12, 16));
  EXPECT_THAT(values(resize_bilinear(cast(x, DType::bf16), {.size = {1, 1}})), ElementsAre(7));
}

TEST(Resize, GradientsAddUpWhatReads) {
  Graph graph;
  Tensor x = row(graph, {1, 2}), seed = row(graph, {1, 10, 100, 1000});
  Tensor y = resize_nearest(x, {.size = {1, 4}});
  EXPECT_THAT(values(gradients(y, {&x, 1}, seed)[0]), ElementsAre(11, 1100));
  y = resize_bilinear(x, {.size = {1, 4}});
  EXPECT_THAT(values(gradients(y, {&x, 1}, seed)[0]), ElementsAre(1 + 7.5 + 25, 2.5 + 75 + 1000));
}

TEST(Resize, PassesCheckOp) {
  struct Case {
    Shape x;
    std::array<std::int64_t, 2> size;
  };
  using Resize = Tensor (*)(Tensor, ResizeOptions);
  for (Resize resize : {&resize_nearest, &resize_bilinear})
    for (bool align : {false, true})
      for (const Case& t :
           {Case{{2, 4, 4, 3}, {8, 8}}, Case{{1, 5, 7, 2}, {3, 11}}, Case{{1, 1, 1, 1}, {3, 2}},
            Case{{1, 4, 9, 1}, {1, 2}}, Case{{2, 3, 5, 1}, {3, 5}}, Case{{0, 3, 5, 2}, {2, 7}}}) {
        SCOPED_TRACE(concat(t.x, " align ", align));
        auto build = [&](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
          return {resize(in[0], {t.size, align})};
        };
        EXPECT_EQ(check_op({.build = build, .inputs = {noise(t.x)}}), "");
        auto second = [&](const Scope& s, std::span<const Tensor> in) {
          return square_gradients(build(s, in)[0], in);
        };
        EXPECT_EQ(check_op({.build = second, .inputs = {noise(t.x)}}), "");
      }
}

TEST(Resize, ErrorsSayWhatDoesNotFit) {
  Graph graph;
  Tensor x = row(graph, {1, 2});
  EXPECT_EQ(error_of([&] {
              resize_nearest(x, {.size = {0, 3}});
            }),
            "resize_nearest: size must be at least 1 x 1, got 0 x 3");
  EXPECT_EQ(error_of([&] {
              resize_bilinear(reshape(x, Shape{2}), {.size = {1, 1}});
            }),
            "resize_bilinear: input must be [n, h, w, c], got [2]");
  EXPECT_EQ(error_of([&] {
              resize_bilinear(cast(x, DType::u8), {.size = {1, 1}});
            }),
            "resize_bilinear: input must be floating, got u8[1, 1, 2, 1]; cast it");
  EXPECT_EQ(error_of([&] {
              resize_nearest(constant(graph, Array::zeros({1, 0, 2, 1})), {.size = {1, 1}});
            }),
            "resize_nearest: the image is 0 x 2; it must have at least one element");
}

}  // namespace
}  // namespace belfry::testing
