#include "compiler_testing.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;

struct JoinPads : testing::Test {
  std::vector<std::string> joined(const Tensor& result) {
    program = join_pads(program_of({result}));
    return ops_of(program);
  }
  // [2, 3] within [2, 8], from column `at` on.
  Tensor part(const Tensor& x, std::int64_t at, double value = 0) {
    return pad(x, {.before = {0, at}, .after = {0, 8 - at - x.size(1)}, .value = value});
  }
  Graph graph;
  Tensor a = f32(graph, "a", {2, 3}), b = f32(graph, "b", {2, 1}), c = f32(graph, "c", {2, 4});
  Program program;
};

TEST_F(JoinPads, InTheOrderOfTheirPlaces) {
  EXPECT_THAT(joined(part(c, 4) + part(a, 0) + part(b, 3)), ElementsAre("concat"));
  const Node& concat = program.outputs[0].node();
  EXPECT_EQ(concat.as<AxisOptions>().axis, 1);
  std::vector<std::string> read;
  for (const Tensor& t : concat.inputs()) read.push_back(t.node().as<InputOptions>().name);
  EXPECT_THAT(read, ElementsAre("a", "b", "c"));
}

TEST_F(JoinPads, TheGradientOfSplitIsOneConcat) {
  Tensor x = f32(graph, "x", {2, 9});
  std::vector<Tensor> thirds = split(x, 3, 1);
  Tensor y = sum(thirds[0] * a) + sum(thirds[1]) + sum(square(thirds[2]));
  auto names = joined(gradients(y, std::vector{x})[0]);
  EXPECT_EQ(std::ranges::count(names, "concat"), 1);
  EXPECT_EQ(std::ranges::count(names, "pad"), 0);
}

TEST_F(JoinPads, NotWithAGapOrAnOverlap) {
  EXPECT_EQ(joined(part(a, 0) + part(c, 4)).back(), "add");
  EXPECT_EQ(joined(part(a, 0) + part(b, 2) + part(c, 4)).back(), "add");
  EXPECT_EQ(joined(part(a, 0) + part(b, 3)).back(), "add");
  Tensor over = f32(graph, "over", {2, 5});
  EXPECT_EQ(joined(part(a, 0) + part(b, 2) + part(over, 3)).back(), "add");
}

TEST_F(JoinPads, NotWithOtherTermsOrNumbers) {
  Tensor other = f32(graph, "other", {2, 8});
  EXPECT_EQ(joined(part(a, 0) + part(b, 3) + part(c, 4) + other).back(), "add");
  EXPECT_EQ(joined(part(a, 0, 1) + part(b, 3) + part(c, 4)).back(), "add");
}

TEST_F(JoinPads, NotWhereOthersReadAPad) {
  Tensor shared = part(a, 0);
  auto names = joined(sum(shared + part(b, 3) + part(c, 4)) + sum(shared));
  EXPECT_EQ(std::ranges::count(names, "concat"), 0);
}

TEST_F(JoinPads, NotOfTwoAxes) {
  Tensor corner = pad(f32(graph, "corner", {1, 4}), {.before = {0, 0}, .after = {1, 4}});
  Tensor rest = pad(f32(graph, "rest", {2, 4}), {.before = {0, 4}, .after = {0, 0}});
  EXPECT_EQ(joined(corner + rest).back(), "add");
}

}  // namespace
}  // namespace belfry
