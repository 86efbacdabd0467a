#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/update/updates.h"
#include "compiler_testing.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;

struct MergeStatistics : testing::Test {
  // As layers::batch_norm writes it.
  Node& update(const Variable& moving, const Tensor& batch, double rate) {
    return assign(moving, moving + (stop_gradient(batch) - moving) * rate);
  }
  std::vector<std::string> merged(const std::vector<Node*>& effects, bool on_host = false) {
    program = merge_statistics_updates(program_of({}, effects), [=](int) { return on_host; });
    std::vector<std::string> names;
    for (const Node* effect : program.effects) names.emplace_back(effect->op().name);
    return names;
  }
  Variable variable(const char* name) { return Scope(graph).variable(name, {.shape = {4}}); }
  Graph graph;
  Variable mean = variable("mean"), variance = variable("variance");
  Tensor batch = f32(graph, "batch", {4}), spread = f32(graph, "spread", {4});
  Program program;
};

TEST_F(MergeStatistics, IntoOneEffect) {
  Node &first = update(mean, batch, 0.25), &second = update(variance, spread * 1.5, 0.125);
  ASSERT_THAT(merged({&first, &second}), ElementsAre("statistics_update"));
  const Node& made = *program.effects[0];
  EXPECT_THAT(made.as<StatisticsUpdateOptions>().scales, ElementsAre(1, 1.5));
  EXPECT_THAT(made.as<StatisticsUpdateOptions>().rates, ElementsAre(0.25, 0.125));
  std::vector<std::string> read;
  for (const Tensor& t : made.inputs()) {
    const Node& leaf = t.node().op().view ? t.node().input(0).node() : t.node();
    read.push_back(leaf.is(variable_op) ? leaf.as<VariableOptions>().name
                                        : leaf.as<InputOptions>().name);
  }
  EXPECT_THAT(read, ElementsAre("mean", "batch", "variance", "spread"));
}

TEST_F(MergeStatistics, NotOnHosts) {
  EXPECT_THAT(merged({&update(mean, batch, 0.25)}, /*on_host=*/true), ElementsAre("assign"));
}

// The second one reads what the first made.
TEST_F(MergeStatistics, NotWhereAStepWritesAVariableTwice) {
  Node &first = update(mean, batch, 0.25), &second = update(mean, spread, 0.25),
       &alone = update(variance, spread, 0.5);
  EXPECT_THAT(merged({&first, &second, &alone}),
              ElementsAre("assign", "assign", "statistics_update"));
}

TEST_F(MergeStatistics, NotOtherFormulas) {
  Tensor one = f32(graph, "one", {1}), rate = f32(graph, "rate", {4});
  EXPECT_THAT(merged({&assign(mean, mean + (one - mean) * 0.5),
                      &assign(variance, variance + (batch - variance) * rate)}),
              ElementsAre("assign", "assign"));
  EXPECT_THAT(merged({&assign(mean, mean + (mean - batch) * 0.5),
                      &assign(variance, mean + (batch - variance) * 0.5)}),
              ElementsAre("assign", "assign"));
  EXPECT_THAT(merged({&assign(mean, batch)}), ElementsAre("assign"));
}

}  // namespace
}  // namespace belfry
