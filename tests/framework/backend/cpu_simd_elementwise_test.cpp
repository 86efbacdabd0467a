#include <limits>

#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise/elementwise.h"
#include "belfry/framework/ops/elementwise/fused_elementwise.h"
#include "belfry/framework/ops/math.h"
#include "cpu_simd_testing.h"

namespace belfry::cpu {
namespace {

const std::vector<Shape> shapes{{}, {1}, {0}, {15}, {16}, {17}, {3, 5}, {64, 64}, {7, 4801}};

FusedInstruction call(const OpDef& op, int a, int b = -1, int c = -1) { return {&op, {a, b, c}}; }

void check(const OpDef& op, const std::vector<Array>& inputs, double rounding = 8) {
  Graph graph;
  expect_simd_matches_reference(apply(op, inputs_like(graph, inputs)), inputs, rounding);
}

// A new functor is found here by itself: operands are between 0.5 and 2, where all are defined.
TEST(SimdElementwise, EveryFunctor) {
  for_each_functor([](auto functor) {
    using F = decltype(functor);
    std::vector<Array> inputs;
    for (int i = 0; i < F::arity; ++i) {
      bool boolean = F::domain == Domain::boolean || (std::is_same_v<F, functor::Where> && i == 0);
      auto seed = static_cast<std::uint64_t>(i + 1);
      inputs.push_back(boolean ? random_integers({7, 481}, DType::boolean, 2, seed)
                               : random_array({7, 481}, seed, 0.5f, 2));
    }
    SCOPED_TRACE(F::name);
    check(F::op, inputs);
  });
}

TEST(SimdElementwise, OneOperandOps) {
  for (const OpDef* op :
       {&functor::Neg::op, &functor::Abs::op, &functor::Sign::op, &functor::Floor::op,
        &functor::Exp::op, &functor::Expm1::op, &functor::Erf::op, &functor::Sigmoid::op,
        &functor::Tanh::op, &functor::Relu::op})
    for (const Shape& shape : shapes) check(*op, {random_array(shape, 1)});
  for (const OpDef* op :
       {&functor::Log::op, &functor::Log1p::op, &functor::Sqrt::op, &functor::Rsqrt::op})
    for (const Shape& shape : shapes) check(*op, {random_array(shape, 2, 0.1f, 4)});
}

TEST(SimdElementwise, TwoOperandOps) {
  for (const OpDef* op : {&functor::Add::op, &functor::Sub::op, &functor::Mul::op,
                          &functor::Minimum::op, &functor::Maximum::op, &functor::ReluGrad::op,
                          &functor::Less::op, &functor::LessEqual::op, &functor::Greater::op,
                          &functor::GreaterEqual::op, &functor::Equal::op, &functor::NotEqual::op})
    for (const Shape& shape : shapes) check(*op, {random_array(shape, 1), random_array(shape, 2)});
  for (const Shape& shape : shapes) {
    check(functor::Div::op, {random_array(shape, 1), random_array(shape, 2, 1, 3)});
    check(functor::Pow::op, {random_array(shape, 1, 0.5f, 2), random_array(shape, 2)});
  }
}

TEST(SimdElementwise, BooleanOps) {
  for (const Shape& shape : shapes) {
    Array a = random_integers(shape, DType::boolean, 2, 1);
    Array b = random_integers(shape, DType::boolean, 2, 2);
    check(functor::LogicalAnd::op, {a, b});
    check(functor::LogicalOr::op, {a, b});
    check(functor::LogicalNot::op, {a});
    check(functor::Equal::op, {a, b});
    check(functor::Where::op, {a, random_array(shape, 3), random_array(shape, 4)});
    check(functor::Where::op, {a, a, b});
  }
}

TEST(SimdElementwise, NanAndInfinity) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  Array x = Array::of({nan, inf, -inf, 0.0f, 1.0f, nan}),
        y = Array::of({1.0f, nan, nan, -inf, inf, nan});
  for (const OpDef* op :
       {&functor::Relu::op, &functor::Abs::op, &functor::Sign::op, &functor::Exp::op,
        &functor::Log::op, &functor::Tanh::op, &functor::Sigmoid::op})
    check(*op, {x});
  for (const OpDef* op : {&functor::Add::op, &functor::Minimum::op, &functor::Maximum::op,
                          &functor::Equal::op, &functor::Less::op, &functor::ReluGrad::op})
    check(*op, {x, y});
}

TEST(SimdElementwise, Broadcasting) {
  std::vector<std::pair<Shape, Shape>> pairs{{{64, 1000}, {}},
                                             {{64, 1000}, {1000}},
                                             {{64, 1000}, {64, 1}},
                                             {{300, 7}, {7}},
                                             {{300, 7}, {300, 1}},
                                             {{5, 6, 7, 8}, {6, 1, 8}},
                                             {{5, 6, 7, 8}, {5, 1, 1, 8}},
                                             {{5, 1, 7}, {1, 6, 1}},
                                             {{3, 20000}, {20000}},
                                             {{1, 1}, {1}},
                                             {{0, 4}, {4}},
                                             {{2, 3, 1, 1}, {1, 1, 50, 41}}};
  for (const auto& [a, b] : pairs) {
    check(functor::Sub::op, {random_array(a, 1), random_array(b, 2)});
    check(functor::Sub::op, {random_array(b, 1), random_array(a, 2)});
    check(functor::Where::op,
          {random_integers(b, DType::boolean, 2, 1), random_array(a, 2), random_array(b, 3)});
  }
}

TEST(SimdElementwise, OtherTypesHaveNoFastKernel) {
  Graph graph;
  Tensor whole = input(graph, "i", {{4}, DType::i64}), wide = input(graph, "d", {{4}, DType::f64});
  EXPECT_EQ(find_kernel((whole + whole).node(), 1), nullptr);
  EXPECT_EQ(find_kernel(exp(wide).node(), 1), nullptr);
}

TEST(SimdElementwise, ResultMayOverwriteAnOperand) {
  Array a = random_array({3, 1003}, 1), b = random_array({3, 1003}, 2);
  Graph graph;
  auto inputs = inputs_like(graph, {a, b});
  // (b - a) tanh(a)
  Tensor y = fused_elementwise(inputs, {{call(functor::Sub::op, 1, 0), call(functor::Tanh::op, 0),
                                         call(functor::Mul::op, 2, 3)}});
  for (const SimdLoops* loops : simd_choices()) {
    UsingSimd using_simd(*loops);
    auto kernel = find_kernel(y.node(), 2);
    Array expected = run_kernel(*kernel, y.node(), {a, b})[0];
    for (std::size_t over : {0u, 1u}) {
      std::vector<Array> operands{a.clone(), b.clone()};
      std::vector<void*> in{operands[0].raw(), operands[1].raw()}, out{in[over]};
      auto stream = find_device("cpu")->make_stream();
      kernel->run({in, out, nullptr}, *stream);
      EXPECT_TRUE(identical(operands[over], expected)) << loops->isa << " over input " << over;
    }
  }
}

TEST(SimdElementwise, AnElementsBitsDoNotDependOnItsPlace) {
  Array x = random_array({1000}, 1);
  for (const SimdLoops* loops : simd_choices()) {
    UsingSimd using_simd(*loops);
    Graph graph;
    auto result = [&](std::int64_t from, std::int64_t n) {
      Array part({n}, DType::f32);
      std::copy_n(x.span<float>().begin() + from, n, part.span<float>().begin());
      Tensor in = input(graph, "x" + std::to_string(graph.size()), part.type());
      const Node& node =
          fused_elementwise({in}, {{call(functor::Sigmoid::op, 0), call(functor::Mul::op, 0, 1)}})
              .node();
      return run_kernel(*find_kernel(node, 1), node, {part})[0];
    };
    Array all = result(0, 1000);
    for (std::int64_t from : {1, 7, 500})
      for (std::int64_t n : {1, 3, 17, 333}) {
        Array part = result(from, n);
        for (std::int64_t i = 0; i < n; ++i)
          ASSERT_EQ(part.span<float>()[static_cast<std::size_t>(i)],
                    all.span<float>()[static_cast<std::size_t>(from + i)]);
      }
  }
}

struct FusedCase {
  const char* what;
  std::vector<Array> inputs;
  std::vector<FusedInstruction> program;
};

std::vector<FusedCase> fused_cases(std::int64_t rows, std::int64_t columns) {
  Array x = random_array({rows, columns}, 1), row = random_array({columns}, 2);
  Array column = random_array({rows, 1}, 3), scalar = random_array({}, 4);
  Array mask = random_integers({rows, columns}, DType::boolean, 2, 5);
  return {
      {"gelu",
       {x, Array::scalar(0.70710678f), Array::scalar(1.0f), Array::scalar(0.5f)},
       {call(functor::Mul::op, 0, 1), call(functor::Erf::op, 4), call(functor::Add::op, 5, 2),
        call(functor::Mul::op, 0, 3), call(functor::Mul::op, 7, 6)}},
      {"row, column and scalar",
       {x, row, column, scalar},
       {call(functor::Add::op, 0, 1), call(functor::Mul::op, 4, 2),
        call(functor::Maximum::op, 5, 3)}},
      {"mask", {mask, x, row}, {call(functor::Where::op, 0, 1, 2), call(functor::Mul::op, 3, 3)}},
      {"comparison at the end",
       {x, row},
       {call(functor::Exp::op, 0), call(functor::Greater::op, 2, 1)}},
      {"comparison inside",
       {x, row, scalar},
       {call(functor::Less::op, 0, 1), call(functor::LogicalNot::op, 3),
        call(functor::Where::op, 4, 0, 2)}},
  };
}

TEST(SimdElementwise, FusedPrograms) {
  for (auto [rows, columns] : {std::pair<int, int>{1, 1}, {5, 7}, {130, 129}, {64, 512}, {0, 3}})
    for (FusedCase& c : fused_cases(rows, columns)) {
      SCOPED_TRACE(c.what);
      Graph graph;
      Tensor y = fused_elementwise(inputs_like(graph, c.inputs), {c.program});
      expect_simd_matches_reference(y.node(), c.inputs);
    }
}

TEST(SimdElementwise, LongProgramNeedsFewBuffers) {
  // x -> x + row, forty-one times
  std::vector<Array> inputs{random_array({40, 100}, 1), random_array({100}, 2, -0.1f, 0.1f)};
  std::vector<FusedInstruction> program{call(functor::Add::op, 0, 1)};
  for (int v = 2; v < 42; ++v) program.push_back(call(functor::Add::op, v, 1));
  Graph graph;
  Tensor y = fused_elementwise(inputs_like(graph, inputs), {program});
  expect_simd_matches_reference(y.node(), inputs);
}

}  // namespace
}  // namespace belfry::cpu
