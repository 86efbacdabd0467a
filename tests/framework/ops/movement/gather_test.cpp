// Covers gather.cpp, gather_grad.cpp, row_index, embedding_lookup and one_hot.cpp.
#include "../support.h"
#include "belfry/framework/ops/nn.h"

namespace belfry::testing {
namespace {

Array indices(const Shape& shape, std::initializer_list<std::int64_t> list) {
  return Array::of(list, shape);
}

TEST(Gather, PicksRowsAlongAnAxis) {
  Graph graph;
  Tensor x = tensor<double>(graph, {2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor i = constant(graph, indices({2, 2}, {2, 0, 0, 1}));
  EXPECT_EQ(gather(x, i, 1).shape(), (Shape{2, 2, 2}));
  EXPECT_THAT(values(gather(x, i, 1)), ElementsAre(3, 1, 1, 2, 6, 4, 4, 5));
  Tensor one = tensor<std::int32_t>(graph, {}, {1});
  EXPECT_EQ(gather(x, one).shape(), Shape{3});
  EXPECT_THAT(values(gather(x, one)), ElementsAre(4, 5, 6));
  EXPECT_THAT(slope(gather(x, i, 1), x), ElementsAre(2, 1, 1, 2, 1, 1));
}

TEST(Gather, AgreesWithItsReferenceAndDifferences) {
  struct Case {
    Shape x;
    int axis;
    Array indices;
  };
  const std::vector<Case> cases = {
      {{5, 3}, 0, indices({4}, {4, 0, 4, 2})}, {{2, 5, 3}, 1, indices({2, 1}, {3, 3})},
      {{2, 5}, -1, indices({}, {1})},          {{5, 3}, 0, indices({0}, {})},
      {{0, 3}, 1, indices({2}, {0, 2})},
  };
  for (const Case& c : cases)
    EXPECT_EQ(check_op({.build = [&](const Scope&, auto x) -> std::vector<Tensor> {
                          return {gather(x[0], x[1], c.axis)};
                        },
                        .inputs = {noise(c.x), c.indices}}),
              "")
        << concat(c.x);
}

TEST(Gather, SumsManySmallGradientsIn16Bits) {
  Graph graph;
  Tensor x = cast(tensor<double>(graph, {1}, {1}), DType::bf16);
  Tensor i = constant(graph, Array::zeros({1000}, DType::i64));
  EXPECT_THAT(slope(gather(x, i), x), ElementsAre(1000));  // one by one it would stop at 256
}

TEST(Gather, ErrorsNameIndexPositionAndRange) {
  Graph graph;
  Tensor x = tensor<double>(graph, {3}, {1, 2, 3});
  auto with = [&](std::initializer_list<std::int64_t> list) {
    auto n = static_cast<std::int64_t>(list.size());
    return error_of([&] { values(gather(x, constant(graph, indices({n}, list)))); });
  };
  using ::testing::StartsWith;
  EXPECT_THAT(with({0, 3}), StartsWith("gather: index 3 at position 1 is outside 0..2"));
  EXPECT_THAT(with({-1}), StartsWith("gather: index -1 at position 0 is outside 0..2"));
  Tensor none = tensor<double>(graph, {0}, {});
  EXPECT_THAT(error_of([&] { values(gather(none, constant(graph, indices({1}, {0})))); }),
              StartsWith("gather: index 0 at position 0 into an axis of size 0"));
  EXPECT_EQ(error_of([&] { gather(x, x); }), "gather: indices must be i32 or i64, got f64[3]");
  EXPECT_EQ(error_of([&] { gather(x, x, 1); }), "gather: axis 1 is outside a tensor of rank 1");
}

TEST(EmbeddingLookup, PicksRowsOfTheTable) {
  EXPECT_EQ(check_op({.build = [](const Scope&, auto x) -> std::vector<Tensor> {
                        return {embedding_lookup(x[0], x[1])};
                      },
                      .inputs = {noise({7, 5}), indices({2, 3}, {6, 0, 6, 1, 2, 6})}}),
            "");
  Graph graph;
  Tensor table = tensor<double>(graph, {2, 2}, {1, 2, 3, 4});
  Tensor ids = constant(graph, indices({2}, {1, 2}));
  EXPECT_THAT(error_of([&] { values(embedding_lookup(table, ids)); }),
              ::testing::StartsWith("embedding_lookup: index 2 at position 1 is outside 0..1"));
  EXPECT_EQ(error_of([&] { embedding_lookup(reshape(table, {4}), ids); }),
            "embedding_lookup: the table must be [rows, width], got f64[4]");
}

TEST(OneHot, MarksTheIndexedPlace) {
  Graph graph;
  Tensor i = constant(graph, indices({4}, {1, 0, 3, -1}));
  Tensor y = one_hot(i, {.depth = 3});
  EXPECT_EQ(y.type(), (TensorType{{4, 3}, DType::f32}));
  EXPECT_THAT(values(y), ElementsAre(0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0));
  Tensor bytes = tensor<std::uint8_t>(graph, {}, {1});
  EXPECT_THAT(values(one_hot(bytes, {.depth = 2, .on = 5, .off = -1, .dtype = DType::i32})),
              ElementsAre(-1, 5));
  EXPECT_THAT(values(one_hot(bytes, {.depth = 2, .dtype = DType::boolean})), ElementsAre(0, 1));
  EXPECT_EQ(one_hot(constant(graph, indices({0}, {})), {.depth = 2}).shape(), (Shape{0, 2}));
}

TEST(OneHot, Errors) {
  Graph graph;
  Tensor i = constant(graph, indices({1}, {1}));
  EXPECT_EQ(error_of([&] { one_hot(i, {}); }), "one_hot: depth must be at least 1, got 0");
  EXPECT_EQ(error_of([&] { one_hot(cast(i, DType::f32), {.depth = 2}); }),
            "one_hot: indices must be whole numbers, got f32[1]");
  EXPECT_EQ(error_of([&] { one_hot(i, {.depth = 2, .on = 0.5, .dtype = DType::i64}); }),
            "one_hot: 0.5 is no value of i64");
}

}  // namespace
}  // namespace belfry::testing
