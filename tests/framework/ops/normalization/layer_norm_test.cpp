// Covers layer_norm.cpp, layer_norm_grad.cpp and group_norm.
#include "../nn_support.h"

namespace belfry::testing {
namespace {

TEST(LayerNorm, NormalisesEachRow) {
  Graph graph;
  Tensor x = floats(graph, {2, 2}, {1, 3, 10, 0});
  Tensor scale = floats(graph, {2}, {4, 1}), offset = floats(graph, {2}, {10, 20});
  EXPECT_THAT(values(layer_norm(x, scale, offset, 0)), ElementsAre(6, 21, 14, 19));
  EXPECT_THAT(values(layer_norm(x, scale, offset, 3))[0], 10 - 4.0 / 2);
  Tensor half = layer_norm(cast(x, DType::f16), scale, offset, 0);
  EXPECT_EQ(half.dtype(), DType::f16);
  EXPECT_THAT(values(half), ElementsAre(6, 21, 14, 19));
}

TEST(LayerNorm, PassesCheckOp) {
  for (const Shape& x : {Shape{4, 8}, Shape{2, 3, 5}, Shape{7, 1}, Shape{17}, Shape{0, 3}}) {
    SCOPED_TRACE(to_string(x));
    Shape c{x[x.rank() - 1]};
    auto build = [](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
      return {layer_norm(in[0], in[1], in[2], 0.1)};
    };
    std::vector<Array> inputs = {noise(x), noise(c, 2), noise(c, 3)};
    EXPECT_EQ(check_op({.build = build, .inputs = inputs, .wide = {1, 2}}), "");
    auto second = [&](const Scope& s, std::span<const Tensor> in) {
      return square_gradients(build(s, in)[0] * in[0], in);
    };
    EXPECT_EQ(check_op({.build = second, .inputs = inputs, .rounding = 256, .wide = {1, 2}}), "");
  }
}

TEST(LayerNorm, ErrorsSayWhatDoesNotFit) {
  Graph graph;
  Tensor x = floats(graph, {1, 2}, {1, 2}), scale = floats(graph, {1}, {1});
  EXPECT_EQ(error_of([&] { layer_norm(x, scale, scale); }),
            "layer_norm: scale must be f32[2], got f32[1]");
}

TEST(GroupNorm, NormalisesEachGroupOfEachExample) {
  Graph graph;
  // One example of 1 x 2 with 4 channels: groups {1, 3, 3, 1} and {0, 10, 10, 0}.
  Tensor x = floats(graph, {1, 1, 2, 4}, {1, 3, 0, 10, 3, 1, 10, 0});
  Tensor scale = floats(graph, {4}, {1, 2, 3, 4}), offset = floats(graph, {4}, {0, 0, 0, 10});
  EXPECT_THAT(values(group_norm(x, scale, offset, 2, 0)), ElementsAre(-1, 2, -3, 14, 1, -2, 3, 6));
}

TEST(GroupNorm, PassesCheckOp) {
  struct Case {
    Shape x;
    int groups;
  };
  for (const Case& t : {Case{{2, 4, 4, 8}, 4}, Case{{2, 3, 1, 3}, 3}, Case{{3, 5}, 1},
                        Case{{1, 1, 1, 1}, 1}, Case{{0, 2, 2, 4}, 2}}) {
    SCOPED_TRACE(to_string(t.x));
    Shape c{t.x[t.x.rank() - 1]};
    EXPECT_EQ(
        check_op({.build = [&](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
                    return {group_norm(in[0], in[1], in[2], t.groups, 0.1)};
                  },
                  .inputs = {noise(t.x), noise(c, 2), noise(c, 3)},
                  .wide = {1, 2}}),
        "");
  }
}

TEST(GroupNorm, ErrorsSayWhatDoesNotFit) {
  Graph graph;
  Tensor x = floats(graph, {1, 3}, {1, 2, 3}), c = floats(graph, {3}, {1, 1, 1});
  EXPECT_EQ(error_of([&] { group_norm(x, c, c, 2); }),
            "group_norm: 3 channels cannot be divided into 2 groups");
  EXPECT_EQ(error_of([&] { group_norm(x, c, c, 0); }),
            "group_norm: 3 channels cannot be divided into 0 groups");
  EXPECT_EQ(error_of([&] { group_norm(c, c, c, 1); }),
            "group_norm: input must be [n, ..., c], got f32[3]");
}

}  // namespace
}  // namespace belfry::testing
