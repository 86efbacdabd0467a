#include "belfry/framework/ops/elementwise/elementwise.h"

#include "../on_gpu.h"

namespace belfry {
namespace {

// Whole packs and a rest, one value for all, and axes that repeat in the middle.
TEST(CudaElementwise, EveryTypeAndWayToBroadcast) {
  for (DType dtype :
       {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64, DType::i32, DType::u8})
    for (Shape other : {Shape{7, 5, 37}, Shape{}, Shape{37}, Shape{7, 1, 37}, Shape{5, 1}}) {
      Graph graph;
      Tensor a = input(graph, "a", {Shape{7, 5, 37}, dtype});
      Tensor b = input(graph, "b", {other, dtype});
      std::map<std::string, Array> inputs{{"a", numbers(a.shape(), dtype, 0, 100)},
                                          {"b", numbers(other, dtype, 1, 100)}};
      EXPECT_EQ(
          difference_on_gpu(
              {add(a, b), sub(b, a), maximum(a, b), less(a, b), where(less(a, b), a, b)}, inputs),
          0)
          << to_string(b.type());
    }
}

// A new functor is found here by itself: operands are between 0.5 and 2, where all are defined.
TEST(CudaElementwise, EveryFunctor) {
  for_each_functor([](auto functor) {
    using F = decltype(functor);
    Graph graph;
    std::map<std::string, Array> inputs;
    std::vector<Tensor> operands;
    for (int i = 0; i < F::arity; ++i) {
      bool boolean = F::domain == Domain::boolean || (std::is_same_v<F, functor::Where> && i == 0);
      DType dtype = boolean ? DType::boolean : DType::f32;
      std::string name = concat("x", i);
      Array values = boolean ? numbers({7, 37}, DType::i32, 0, 2, static_cast<std::uint64_t>(i + 1))
                                   .cast(DType::boolean)
                             : numbers({7, 37}, dtype, 0.5, 2, static_cast<std::uint64_t>(i + 1));
      inputs.emplace(name, values);
      operands.push_back(input(graph, name, values.type()));
    }
    EXPECT_LE(difference_on_gpu({Tensor(apply(F::op, operands))}, inputs), allowed(DType::f32, 8))
        << F::name;
  });
}

TEST(CudaElementwise, DividingAWholeNumberByZeroIsAnError) {
  Graph graph;
  Tensor a = input(graph, "a", {Shape{3}, DType::i32}), b = input(graph, "b", a.type());
  std::map<std::string, Array> inputs{{"a", numbers({3}, DType::i32, 0, 9)},
                                      {"b", Array::zeros(Shape{3}, DType::i32)}};
  inputs.at("b").span<std::int32_t>()[0] = 1;
  try {
    evaluate({div(a, b)}, inputs, {.device = "cuda"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("division by zero: element "), std::string::npos);
  }
}

}  // namespace
}  // namespace belfry
