#include "../support.h"
#include "belfry/framework/ops/nn.h"

namespace belfry::testing {
namespace {

TEST(Matmul, KnownValues) {
  Graph graph;
  Tensor a = tensor<double>(graph, {2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor b = tensor<double>(graph, {3, 2}, {7, 8, 9, 10, 11, 12});
  EXPECT_THAT(values(matmul(a, b)), ElementsAre(58, 64, 139, 154));
  EXPECT_THAT(values(matmul(a, a, {.transpose_b = true})), ElementsAre(14, 32, 32, 77));
  EXPECT_THAT(values(matmul(a, a, {.transpose_a = true})),
              ElementsAre(17, 22, 27, 22, 29, 36, 27, 36, 45));
  EXPECT_THAT(values(matmul(a, b, {.transpose_a = true, .transpose_b = true})),
              ElementsAre(39, 49, 59, 54, 68, 82, 69, 87, 105));
  Tensor whole = cast(a, DType::i32);
  EXPECT_THAT(values(matmul(whole, whole, {.transpose_b = true})), ElementsAre(14, 32, 32, 77));
}

TEST(Matmul, AgreesWithItsReferenceAndDifferencesForAllTransposes) {
  for (bool ta : {false, true}) {
    for (bool tb : {false, true}) {
      for (auto [m, k, n] : {std::array<std::int64_t, 3>{1, 1, 1},
                             {3, 5, 7},
                             {4, 8, 2},
                             {0, 3, 2},
                             {2, 0, 3},
                             {2, 3, 0}}) {
        Shape a = ta ? Shape{k, m} : Shape{m, k}, b = tb ? Shape{n, k} : Shape{k, n};
        EXPECT_EQ(check_op({.build = [=](const Scope&, auto x) -> std::vector<Tensor> {
                              return {matmul(x[0], x[1], {.transpose_a = ta, .transpose_b = tb})};
                            },
                            .inputs = {noise(a, 1), noise(b, 2)}}),
                  "")
            << concat(a, b);
      }
    }
  }
}

TEST(Matmul, LeadingAxesBroadcast) {
  struct Case {
    Shape a, b, y;
  };
  const std::vector<Case> cases = {
      {{2, 3, 4}, {2, 4, 5}, {2, 3, 5}}, {{2, 1, 3, 4}, {3, 4, 2}, {2, 3, 3, 2}},
      {{3, 4}, {2, 4, 5}, {2, 3, 5}},    {{2, 3, 4}, {4, 5}, {2, 3, 5}},
      {{0, 3, 4}, {4, 5}, {0, 3, 5}},
  };
  for (const Case& c : cases) {
    Graph graph;
    Tensor a = constant(graph, noise(c.a)), b = constant(graph, noise(c.b));
    EXPECT_EQ(matmul(a, b).shape(), c.y);
    EXPECT_EQ(check_op({.build = [](const Scope&, auto x) -> std::vector<Tensor> {
                          return {matmul(x[0], x[1])};
                        },
                        .inputs = {noise(c.a, 1), noise(c.b, 2)}}),
              "")
        << concat(c.a, c.b);
  }
  EXPECT_EQ(check_op({.build = [](const Scope&, auto x) -> std::vector<Tensor> {
                        return {matmul(x[0], x[1], {.transpose_a = true, .transpose_b = true})};
                      },
                      .inputs = {noise({2, 4, 3}, 1), noise({5, 4}, 2)}}),
            "");
}

TEST(Matmul, SixteenBitTypesRoundOnce) {
  Graph graph;
  for (DType dtype : {DType::bf16, DType::f16}) {
    Tensor ones = broadcast_to(constant(graph, 1, dtype), {1, 4096});
    EXPECT_THAT(values(matmul(ones, ones, {.transpose_b = true})), ElementsAre(4096));
  }
}

TEST(Matmul, FusedBiasAndActivation) {
  Array a = Array::of({1.f, 2.f}, {1, 2}), b = Array::of({3.f, -3.f, 4.f, -4.f}, {2, 2});
  Array bias = Array::of({-1.f, 5.f}, {2});
  Array y = run(matmul_op, {a, b, bias}, MatmulNodeOptions{.product = {}, .bias = true});
  EXPECT_THAT(y.span<float>(), ElementsAre(10, -6));
  y = run(matmul_op, {a, b, bias},
          MatmulNodeOptions{.product = {}, .bias = true, .activation = Activation::relu});
  EXPECT_THAT(y.span<float>(), ElementsAre(10, 0));
}

TEST(Matmul, CountsTheOperationsOfItsProduct) {
  Graph graph;
  Tensor a = constant(graph, noise({2, 3, 4})), b = constant(graph, noise({2, 4, 5}));
  EXPECT_EQ(matmul_op.flops(matmul(a, b).node()), 2.0 * 2 * 3 * 4 * 5);
  Tensor at = transpose(a, {0, 2, 1});
  EXPECT_EQ(matmul_op.flops(matmul(at, b, {.transpose_a = true}).node()), 2.0 * 2 * 3 * 4 * 5);
}

TEST(Matmul, Errors) {
  Graph graph;
  Tensor a = constant(graph, noise({2, 3})), b = constant(graph, noise({4, 2}));
  EXPECT_EQ(error_of([&] { matmul(a, b); }), "matmul: [2, 3] has 3 columns but [4, 2] has 4 rows");
  EXPECT_EQ(error_of([&] { matmul(a, b, {.transpose_b = true}); }),
            "matmul: [2, 3] has 3 columns but [4, 2] transposed has 2 rows");
  EXPECT_EQ(error_of([&] { matmul(a, constant(graph, noise({3}))); }),
            "matmul: expected matrices, got f32[2, 3] and f32[3]; reshape vectors to rank 2");
  EXPECT_EQ(error_of([&] { matmul(a, cast(b, DType::f64)); }),
            "matmul: f32[2, 3] and f64[4, 2] have different dtypes; cast one of them");
  EXPECT_EQ(error_of([&] {
              matmul(constant(graph, noise({2, 2, 3})), constant(graph, noise({5, 3, 2})));
            }),
            "matmul: shapes [2] and [5] cannot be broadcast together: sizes 2 and 5 differ");
}

}  // namespace
}  // namespace belfry::testing
