#include "../nn_support.h"

namespace belfry::testing {
namespace {

TEST(Pool1d, SlidesAlongTheSignal) {
  Graph graph;
  Tensor x = floats(graph, {1, 5, 2}, {1, 50, 4, 40, 2, 30, 3, 20, 8, 10});
  Tensor y = max_pool1d(x);
  EXPECT_EQ(y.shape(), (Shape{1, 2, 2}));
  EXPECT_THAT(values(y), ElementsAre(4, 50, 3, 30));
  EXPECT_THAT(values(avg_pool1d(x)), ElementsAre(2.5, 45, 2.5, 25));
  EXPECT_THAT(values(avg_pool1d(x, {.padding = same_padding})),
              ElementsAre(2.5, 45, 2.5, 25, 8, 10));
  EXPECT_THAT(values(max_pool1d(x, {.window = 3, .stride = 1})), ElementsAre(4, 50, 4, 40, 8, 30));
  EXPECT_THAT(
      values(max_pool1d(x, {.window = 4, .stride = 4, .padding = Padding::explicit_amounts(2, 1)})),
      ElementsAre(4, 50, 8, 30));
}

TEST(Pool1d, PassesCheckOp) {
  for (Tensor (*pool)(Tensor, Pool1dOptions) : {&max_pool1d, &avg_pool1d})
    for (const auto& [shape, options] :
         {std::pair<Shape, Pool1dOptions>{{2, 7, 3}, {}},
          {{1, 6, 2}, {.window = 3, .stride = 2, .padding = same_padding}},
          {{1, 5, 1}, {.window = 3, .stride = 1, .padding = Padding::explicit_amounts(2, 0)}},
          {{0, 4, 2}, {}}}) {
      SCOPED_TRACE(to_string(shape));
      EXPECT_EQ(check_op({.build = [&, o = options](const Scope&, std::span<const Tensor> in)
                              -> std::vector<Tensor> { return {pool(in[0], o)}; },
                          .inputs = {noise(shape)}}),
                "");
    }
}

TEST(Pool1d, ErrorsSayWhatDoesNotFit) {
  Graph graph;
  Tensor x = constant(graph, Array::zeros({1, 3, 2}));
  EXPECT_EQ(error_of([&] { max_pool1d(x, {.window = 4}); }),
            "max_pool1d: a window over 4 samples does not fit into 3 (3 and padding 0 + 0)");
  EXPECT_EQ(error_of([&] { avg_pool1d(x, {.padding = Padding::explicit_amounts(0, 2)}); }),
            "avg_pool1d: padding 0 + 2 of samples must be less than the window of 2, or some "
            "windows would be empty");
  EXPECT_EQ(error_of([&] { max_pool1d(reshape(x, {6})); }),
            "max_pool1d: input must be [n, w, c], got f32[6]");
}

}  // namespace
}  // namespace belfry::testing
