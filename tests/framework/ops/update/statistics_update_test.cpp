#include <gmock/gmock.h>

#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/update/updates.h"
#include "belfry/framework/runtime/executable.h"

namespace belfry {
namespace {

using testing::ElementsAre;

std::vector<float> values(const VariableStore& store, const std::string& name) {
  Array array = store.read(name);
  return {array.span<float>().begin(), array.span<float>().end()};
}

TEST(StatisticsUpdate, HandComputed) {
  Graph graph;
  Scope scope(graph);
  Variable mean = scope.variable("mean", {.shape = {2}}),
           variance = scope.variable("variance", {.shape = {1}});
  Tensor batch = input(graph, "batch", {{2}, DType::f32}),
         spread = input(graph, "spread", {{1}, DType::f32});
  apply(statistics_update_op, {mean, batch, variance, spread},
        StatisticsUpdateOptions{.scales = {1, 2}, .rates = {0.25, 0.5}});
  VariableStore store(find_device("cpu"));
  Executable run(compile({}, graph.effects(), store.device(), {.verify = true}), store, 0);
  store.write("mean", Array::of({8.0f, -4.0f}));
  store.write("variance", Array::of({1.0f}));
  run.run({{"batch", Array::of({16.0f, 0.0f})}, {"spread", Array::of({2.0f})}}, {});
  EXPECT_THAT(values(store, "mean"), ElementsAre(10, -3));    // 8 + (16 - 8) / 4
  EXPECT_THAT(values(store, "variance"), ElementsAre(2.5f));  // 1 + (2 x 2 - 1) / 2
}

// f32 loses 1 beside 2^24: scale, difference, product and sum are rounded one after the other.
TEST(StatisticsUpdate, RoundsEachStep) {
  Graph graph;
  Variable mean = Scope(graph).variable("mean", {.shape = {1}});
  apply(statistics_update_op, {mean, input(graph, "batch", {{1}, DType::f32})},
        StatisticsUpdateOptions{.scales = {1}, .rates = {0.5}});
  VariableStore store(find_device("cpu"));
  Executable run(compile({}, graph.effects(), store.device(), {.verify = true}), store, 0);
  store.write("mean", Array::of({-1.0f}));
  run.run({{"batch", Array::of({0x1p24f})}}, {});
  EXPECT_THAT(values(store, "mean"), ElementsAre(0x1p23f - 1));  // 2^24 + 1 is rounded to 2^24
}

}  // namespace
}  // namespace belfry
