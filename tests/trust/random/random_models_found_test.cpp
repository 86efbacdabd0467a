// The faults that random models found, each as small as it can be.
#include "../../framework/train/comparing.h"
#include "belfry/framework/ops/autocast.h"
#include "belfry/framework/runtime/evaluate.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;

// As concat() does. Without mixed precision they are an error, and so is a whole number beside
// them.
TEST(FoundByRandomModels, StackTakesTheWidestOfItsPartsInMixedPrecision) {
  Graph graph;
  Tensor x = input(graph, "x", {{1, 1}, DType::f32}), i = input(graph, "i", {{1, 1}, DType::i64});
  EXPECT_THAT(error_of([&] { stack({x, cast(x, DType::bf16)}); }), HasSubstr("must be alike"));
  graph.set_input_rule(autocast(DType::bf16));
  Tensor both = stack({matmul(x, x), x});
  EXPECT_EQ(both.type(), (TensorType{{2, 1, 1}, DType::f32}));
  Array three = evaluate({both}, {{"x", Array::of({3.0f}, {1, 1})}})[0];
  EXPECT_EQ(three.at(0), 9);
  EXPECT_EQ(three.at(1), 3);
  EXPECT_THAT(error_of([&] { stack({x, i}); }), HasSubstr("must be alike"));
}

// Two inputs of 12 bytes, each at a multiple of 64: what a step has in use is never more than said.
TEST(FoundByRandomModels, APlanCountsThePlacesOfItsInputs) {
  Estimator estimator({.model_fn = linear, .run = on_cpus(1, 1)});
  EXPECT_THAT(estimator.plan(once({points({1, 2, 3}, {2, 4, 6})}), {.steps = 1}),
              HasSubstr("parameters and statistics 8 B, inputs 128 B, "));
}

}  // namespace
}  // namespace belfry
