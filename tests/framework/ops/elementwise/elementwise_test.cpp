// Covers elementwise.cpp, number.cpp and the ops of functors that have no test of their own.
#include <cmath>
#include <set>
#include <tuple>

#include "../support.h"
#include "belfry/framework/ops/elementwise/functors.h"

namespace belfry::testing {
namespace {

using ::testing::DoubleEq;
using ::testing::DoubleNear;

struct UnaryCase {
  std::string name;
  Tensor (*op)(Tensor);
  double low, high;  // where it is smooth enough for central differences
  bool gradient = true;
};

const std::vector<UnaryCase> unary = {
    {"neg", neg, -2, 2},          {"abs", abs, -2, 2},
    {"sign", sign, -2, 2, false}, {"floor", floor, -2, 2, false},
    {"exp", exp, -2, 2},          {"expm1", expm1, -2, 2},
    {"log", log, 0.5, 3},         {"log1p", log1p, -0.5, 2},
    {"sqrt", sqrt, 0.5, 3},       {"rsqrt", rsqrt, 0.5, 3},
    {"square", square, -2, 2},    {"erf", erf, -2, 2},
    {"sigmoid", sigmoid, -4, 4},  {"tanh", tanh, -2, 2},
    {"relu", relu, -2, 2},
};

TEST(Elementwise, UnaryOpsAgreeWithTheirReferenceAndDifferences) {
  for (const UnaryCase& u : unary)
    for (const Shape& shape : shapes)
      EXPECT_EQ(check_op({.build = [&](const Scope&, auto x) -> std::vector<Tensor> {
                            return {u.op(x[0])};
                          },
                          .inputs = {noise_between(u.low, u.high, shape)},
                          .gradient = u.gradient}),
                "")
          << concat(u.name, shape);
}

struct BinaryCase {
  std::string name;
  Tensor (*op)(Tensor, Tensor);
  double low, high;
  bool gradient = true;
};

const std::vector<BinaryCase> binary = {
    {"add", add, -2, 2},
    {"sub", sub, -2, 2},
    {"mul", mul, -2, 2},
    {"div", div, 0.5, 3},
    {"pow", pow, 0.5, 3},
    {"minimum", minimum, -2, 2},
    {"maximum", maximum, -2, 2},
    {"equal", equal, -2, 2, false},
    {"not_equal", not_equal, -2, 2, false},
    {"less", less, -2, 2, false},
    {"less_equal", less_equal, -2, 2, false},
    {"greater", greater, -2, 2, false},
    {"greater_equal", greater_equal, -2, 2, false},
};

TEST(Elementwise, BinaryOpsBroadcastBothOperands) {
  for (const BinaryCase& b : binary)
    for (const auto& [first, second] : shape_pairs)
      EXPECT_EQ(check_op({.build = [&](const Scope&, auto x) -> std::vector<Tensor> {
                            return {b.op(x[0], x[1])};
                          },
                          .inputs = {noise_between(b.low, b.high, first, 1),
                                     noise_between(b.low, b.high, second, 2)},
                          .gradient = b.gradient}),
                "")
          << concat(b.name, first, second);
}

TEST(Elementwise, WhereBroadcastsAllThree) {
  Array condition = Array::of({true, false, true}, {3, 1});
  for (const Shape& a : {Shape{}, Shape{3, 2}, Shape{2}})
    for (const Shape& b : {Shape{}, Shape{1, 2}, Shape{2, 3, 2}})
      EXPECT_EQ(check_op({.build = [](const Scope&, auto x) -> std::vector<Tensor> {
                            return {where(x[0], x[1], x[2])};
                          },
                          .inputs = {condition, noise(a, 1), noise(b, 2)}}),
                "")
          << concat(a, b);
}

TEST(Elementwise, LogicBroadcasts) {
  Array a = Array::of({true, false, true}, {3, 1}), b = Array::of({true, false}, {1, 2});
  EXPECT_EQ(check_op({.build = [](const Scope&, auto x) -> std::vector<Tensor> {
                        return {logical_and(x[0], x[1]), logical_or(x[0], x[1]), logical_not(x[0])};
                      },
                      .inputs = {a, b},
                      .gradient = false}),
            "");
}

TEST(Elementwise, ReluGradIsLinearInItsFirstOperand) {
  EXPECT_EQ(check_op({.build = [](const Scope&, auto x) -> std::vector<Tensor> {
                        return {relu_grad(x[0], x[1])};
                      },
                      .inputs = {noise({3, 5}, 1), noise({3, 5}, 2)}}),
            "");
}

std::vector<double> at(Tensor (*op)(Tensor), std::initializer_list<double> x) {
  Graph graph;
  return values(op(tensor(graph, {static_cast<std::int64_t>(x.size())}, x)));
}

TEST(Elementwise, KnownValues) {
  EXPECT_THAT(at(neg, {1.5, -2, 0}), ElementsAre(-1.5, 2, 0));
  EXPECT_THAT(at(abs, {1.5, -2, -inf}), ElementsAre(1.5, 2, inf));
  EXPECT_THAT(at(floor, {1.5, -1.5, 2}), ElementsAre(1, -2, 2));
  EXPECT_THAT(at(exp, {0, 1, -inf}), ElementsAre(1, DoubleEq(2.718281828459045), 0));
  EXPECT_THAT(at(expm1, {1e-10, -inf}), ElementsAre(DoubleEq(1.00000000005e-10), -1));
  EXPECT_THAT(at(log, {1, 10, 0}), ElementsAre(0, DoubleEq(2.302585092994046), -inf));
  EXPECT_THAT(at(log1p, {1e-10, -1}), ElementsAre(DoubleEq(9.9999999995e-11), -inf));
  EXPECT_THAT(at(sqrt, {2, 0}), ElementsAre(DoubleEq(1.4142135623730951), 0));
  EXPECT_THAT(at(rsqrt, {4, 0}), ElementsAre(0.5, inf));
  EXPECT_THAT(at(square, {-3, 0.5}), ElementsAre(9, 0.25));
  EXPECT_THAT(at(erf, {0, 1}), ElementsAre(0, DoubleEq(0.8427007929497149)));
  EXPECT_THAT(at(sigmoid, {0, 1, -800, 800}), ElementsAre(0.5, DoubleEq(0.7310585786300049), 0, 1));
  EXPECT_THAT(at(tanh, {0, 1, 800}), ElementsAre(0, DoubleEq(0.7615941559557649), 1));
  EXPECT_THAT(at(relu, {-1, 0, 2, nan}), same({0, 0, 2, nan}));
  EXPECT_THAT(at(sign, {-3, 0, 2, nan}), same({-1, 0, 1, nan}));
}

TEST(Elementwise, NanWinsAnExtremum) {
  Graph graph;
  Tensor a = tensor<double>(graph, {4}, {1, nan, 2, -inf}),
         b = tensor<double>(graph, {4}, {2, 0, nan, 0});
  EXPECT_THAT(values(minimum(a, b)), same({1, nan, nan, -inf}));
  EXPECT_THAT(values(maximum(a, b)), same({2, nan, nan, 0}));
}

TEST(Elementwise, GradientsAtTheirKinks) {
  Graph graph;
  Tensor x = tensor<double>(graph, {3}, {-1, 0, 1}), zero = tensor<double>(graph, {}, {0});
  EXPECT_THAT(slope(relu(x), x), ElementsAre(0, 0, 1));
  EXPECT_THAT(slope(abs(x), x), ElementsAre(-1, 0, 1));
  EXPECT_THAT(slope(minimum(x, zero), x), ElementsAre(1, 1, 0));
  EXPECT_THAT(slope(minimum(x, zero), zero), ElementsAre(1));
  EXPECT_THAT(slope(maximum(x, zero), x), ElementsAre(0, 1, 1));
  EXPECT_THAT(slope(maximum(x, zero), zero), ElementsAre(1));
}

TEST(Elementwise, PowHasFiniteGradientsWhereTheyExist) {
  Graph graph;
  Tensor a = tensor<double>(graph, {5}, {0, 0, 0, -2, 2});
  Tensor b = tensor<double>(graph, {5}, {0, 1, 2, 3, 3});
  EXPECT_THAT(values(pow(a, b)), ElementsAre(1, 0, 0, -8, 8));
  EXPECT_THAT(slope(pow(a, b), a), ElementsAre(0, 1, 0, 12, 12));
  EXPECT_THAT(slope(pow(a, b), b), ElementsAre(0, 0, 0, 0, DoubleEq(8 * std::log(2.0))));
  Tensor da = gradients(sum(pow(a, b)), std::vector<Tensor>{a})[0];
  EXPECT_THAT(slope(da, a), ElementsAre(0, 0, 2, -12, 12));
}

TEST(Elementwise, WhereLeaksNoGradientFromTheBranchNotTaken) {
  Graph graph;
  Tensor x = tensor<double>(graph, {2}, {4, 9});
  Tensor condition = tensor(graph, {2}, {true, false});
  EXPECT_THAT(slope(where(condition, sqrt(x), x), x), ElementsAre(0.25, 1));
}

TEST(Elementwise, ComparisonsAndLogicGiveBool) {
  Graph graph;
  Tensor a = tensor<double>(graph, {4}, {1, 2, 3, nan}), b = tensor<double>(graph, {}, {2});
  EXPECT_EQ(equal(a, b).dtype(), DType::boolean);
  EXPECT_THAT(values(equal(a, b)), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(values(not_equal(a, b)), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(values(less(a, b)), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(values(less_equal(a, b)), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(values(greater(a, b)), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(values(greater_equal(a, b)), ElementsAre(0, 1, 1, 0));
  Tensor p = tensor(graph, {4}, {true, true, false, false});
  Tensor q = tensor(graph, {4}, {true, false, true, false});
  EXPECT_THAT(values(logical_and(p, q)), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(values(logical_or(p, q)), ElementsAre(1, 1, 1, 0));
  EXPECT_THAT(values(logical_not(p)), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(values(equal(p, q)), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(values(where(p, q, logical_not(q))), ElementsAre(1, 0, 0, 1));
}

TEST(Elementwise, IntegersWrapAround) {
  Graph graph;
  constexpr auto lowest = std::numeric_limits<std::int32_t>::min();
  constexpr auto highest = std::numeric_limits<std::int32_t>::max();
  Tensor low = tensor(graph, {1}, {lowest}), high = tensor(graph, {1}, {highest});
  Tensor minus = tensor<std::int32_t>(graph, {1}, {-1});
  EXPECT_THAT(values(add(high, high)), ElementsAre(-2));
  EXPECT_THAT(values(sub(low, high)), ElementsAre(1));
  EXPECT_THAT(values(mul(high, high)), ElementsAre(1));
  EXPECT_THAT(values(neg(low)), ElementsAre(lowest));
  EXPECT_THAT(values(abs(low)), ElementsAre(lowest));
  EXPECT_THAT(values(div(low, minus)), ElementsAre(lowest));
  Tensor bytes = tensor<std::uint8_t>(graph, {3}, {200, 0, 7});
  EXPECT_THAT(values(add(bytes, bytes)), ElementsAre(144, 0, 14));
  EXPECT_THAT(values(neg(bytes)), ElementsAre(56, 0, 249));
  EXPECT_THAT(values(sign(bytes)), ElementsAre(1, 0, 1));
}

TEST(Elementwise, IntegerDivisionTruncatesAndRefusesZero) {
  Graph graph;
  Tensor a = tensor<std::int64_t>(graph, {4}, {7, -7, 7, -7});
  Tensor b = tensor<std::int64_t>(graph, {4}, {2, 2, -2, -2});
  EXPECT_THAT(values(div(a, b)), ElementsAre(3, -3, -3, 3));
  Tensor zero = tensor<std::int64_t>(graph, {4}, {1, 1, 0, 1});
  EXPECT_THAT(error_of([&] { values(div(a, zero)); }),
              ::testing::StartsWith("div: division by zero: element 2 of the divisor i64[4] is 0"));
  EXPECT_THAT(values(div(tensor<double>(graph, {}, {1}), tensor<double>(graph, {}, {0}))),
              ElementsAre(inf));
}

TEST(Elementwise, SixteenBitTypesAreComputedAsFloat) {
  Graph graph;
  for (DType dtype : {DType::bf16, DType::f16}) {
    Tensor one = constant(graph, 1, dtype);
    EXPECT_EQ(exp(one).dtype(), dtype);
    EXPECT_THAT(values(exp(one)), ElementsAre(2.71875));  // both round e there
    EXPECT_THAT(values(one / 3), ElementsAre(dtype == DType::f16 ? 0.333251953125 : 0.333984375));
  }
}

TEST(Elementwise, NumbersTakeTheTensorsType) {
  Graph graph;
  Tensor x = tensor<float>(graph, {2}, {1, 4});
  EXPECT_EQ((x + 1).dtype(), DType::f32);
  EXPECT_THAT(values(x + 1), ElementsAre(2, 5));
  EXPECT_THAT(values(1 + x), ElementsAre(2, 5));
  EXPECT_THAT(values(x - 1), ElementsAre(0, 3));
  EXPECT_THAT(values(1 - x), ElementsAre(0, -3));
  EXPECT_THAT(values(x * 2), ElementsAre(2, 8));
  EXPECT_THAT(values(2 * x), ElementsAre(2, 8));
  EXPECT_THAT(values(x / 2), ElementsAre(0.5, 2));
  EXPECT_THAT(values(2 / x), ElementsAre(2, 0.5));
  Tensor i = tensor<std::int64_t>(graph, {1}, {7});
  EXPECT_THAT(values(i / 2), ElementsAre(3));
}

TEST(Elementwise, ErrorsNameTypesAndRemedies) {
  Graph graph;
  Tensor f = tensor<float>(graph, {2}, {1, 2}), i = tensor<std::int64_t>(graph, {2}, {1, 2});
  Tensor b = tensor(graph, {2}, {true, false}), three = tensor<float>(graph, {3}, {1, 2, 3});
  EXPECT_EQ(error_of([&] { add(f, i); }),
            "add: f32[2] and i64[2] have different dtypes; cast one of them");
  EXPECT_EQ(error_of([&] { add(f, three); }),
            "add: shapes [2] and [3] cannot be broadcast together: sizes 2 and 3 differ");
  EXPECT_EQ(error_of([&] { exp(i); }), "exp: expected a floating type, got i64[2]; cast it first");
  EXPECT_EQ(error_of([&] { mul(b, b); }),
            "mul: expected a number type, got bool[2]; cast it first");
  EXPECT_EQ(error_of([&] { logical_and(f, f); }),
            "logical_and: expected bool, got f32[2]; cast it first");
  EXPECT_EQ(error_of([&] { where(f, f, f); }), "where: the condition must be bool, got f32[2]");
  EXPECT_EQ(error_of([&] { where(b, f, i); }),
            "where: f32[2] and i64[2] have different dtypes; cast one of them");
  EXPECT_EQ(error_of([&] { i * 2.5; }), "mul: 2.5 is no value of i64; cast the tensor first");
  EXPECT_EQ(error_of([&] { b + 1; }),
            "add: a number beside bool[2]; cast the tensor to a number type first");
}

TEST(Functors, AreListedOnceWithTheNamesOfTheirOps) {
  std::vector<std::string_view> names;
  std::apply([&](auto... f) { (names.push_back(f.name), ...); }, Functors{});
  EXPECT_EQ(names.size(), 37u);
  EXPECT_EQ(std::set<std::string_view>(names.begin(), names.end()).size(), names.size());
  for (const OpDef* op : {&functor::Neg::op, &functor::Add::op, &functor::Where::op,
                          &functor::LogicalNot::op, &functor::ReluGrad::op}) {
    EXPECT_TRUE(op->elementwise);
    EXPECT_THAT(names, ::testing::Contains(op->name));
  }
}

TEST(Ops, NameAnUndefinedOperandByItsNumber) {
  Graph graph;
  Tensor x = constant(graph, Array::zeros({2, 3})), none;
  EXPECT_EQ(error_of([&] { x + none; }), "add: input 1 is undefined");
  EXPECT_EQ(error_of([&] { none * 2; }), "mul: the tensor beside the number 2 is undefined");
  EXPECT_EQ(error_of([&] { matmul(x, none); }), "matmul: input 1 is undefined");
  EXPECT_EQ(error_of([&] { mean(none); }), "mean: input 0 is undefined");
  EXPECT_EQ(error_of([&] { cast(none, DType::f16); }), "cast: input 0 is undefined");
  EXPECT_EQ(error_of([&] { softmax(none); }), "softmax: input 0 is undefined");
  EXPECT_EQ(error_of([&] { concat({none, x}, 0); }), "concat: input 0 is undefined");
}

}  // namespace
}  // namespace belfry::testing
