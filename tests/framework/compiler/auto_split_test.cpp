#include "belfry/framework/compiler/auto_split.h"

#include "belfry/framework/graph/scope.h"
#include "compiler_testing.h"
#include "split_testing.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Splitting = SplitTest;

TEST_F(Splitting, EqualWorkIsSharedEvenly) {
  Tensor t = x;
  for (int i = 0; i < 6; ++i) t = times(t, "w" + text(i), 16);
  EXPECT_THAT(split(1), ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_THAT(split(2), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(split(3), ElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_THAT(split(6), ElementsAre(0, 1, 2, 3, 4, 5));
}

// The variables have 1, 1, 4, 16 and 4 KiB. In graph order the best would be 6 and 20.
TEST_F(Splitting, ADeviceMayHaveSeveralStretches) {
  Tensor t = times(x, "a", 16);
  t = times(t, "b", 16);
  t = times(t, "c", 64);
  t = times(t, "d", 64);
  times(t, "e", 16);
  std::vector<int> devices = split(2);
  EXPECT_THAT(devices, ::testing::AnyOf(ElementsAre(0, 0, 0, 1, 0), ElementsAre(1, 1, 1, 0, 1)));
}

// Each level's result waits for the way up, and for its gradient. With both ends of a level on one
// device nothing waits twice: no two runs need as little.
TEST_F(Splitting, TheEndsOfASkipConnectionLieTogether) {
  Scope s(graph);
  auto level = [&](Tensor t, const std::string& name) {
    weights.push_back(s.variable(name, {.shape = {512}}));
    return tanh(t + weights.back());
  };
  Tensor t = f32(graph, "wide", {8, 512});
  std::vector<Tensor> skips;
  for (int i = 0; i < 6; ++i) skips.push_back(t = level(t, "down" + text(i)));
  for (int i = 6; i-- > 0;) t = level(t * skips[static_cast<std::size_t>(i)], "up" + text(i));
  Tensor loss = sum(t);
  std::vector<SplitPass> passes{pass()};
  passes[0].targets = {{loss, weights, 0}};
  SplitCosts costs(passes, {.devices = 2});
  auto fullest = [&](const std::vector<int>& devices) {
    return std::ranges::max(costs.of(devices).bytes);
  };
  std::vector<int> best = split_placements(passes, {.devices = 2})[0].device_of;
  std::int64_t best_run = std::numeric_limits<std::int64_t>::max();
  for (std::size_t cut = 1; cut < best.size(); ++cut) {
    std::vector<int> run(best.size(), 1);
    std::fill_n(run.begin(), cut, 0);
    best_run = std::min(best_run, fullest(run));
  }
  EXPECT_LT(fullest(best), best_run);
}

TEST_F(Splitting, NoDeviceIsWithoutWork) {
  Tensor t = times(x, "a", 16);
  t = times(t, "large", 2048);  // needs more than all others together
  t = times(t, "b", 16);
  for (const char* name : {"c", "d", "e"}) t = times(t, name, 16);
  std::vector<int> devices = split(4);
  for (int device = 0; device < 4; ++device) EXPECT_THAT(devices, ::testing::Contains(device));
}

// A tower without rows.
TEST_F(Splitting, EmptyTensorsAreSplitToo) {
  Tensor t = f32(graph, "none", {0, 16});
  for (int i = 0; i < 4; ++i) t = tanh(t);
  EXPECT_THAT(split(2), ElementsAre(0, 0, 1, 1));
}

TEST_F(Splitting, IsTheSameEachTime) {
  Tensor t = x;
  for (int i = 0; i < 9; ++i) t = tanh(times(t, "w" + text(i), 16 + 8 * i));
  EXPECT_EQ(split(3), split(3));
}

TEST_F(Splitting, PlacesNodesAndTheirVariables) {
  Tensor a = times(x, "a", 16), b = times(a, "b", 16), c = times(b, "c", 16);
  Tensor tied = matmul(c, weights[0]);
  std::vector<SplitPass> passes{pass()};
  place_split(graph, {.device_of = {0, 0, 1, 1}}, passes);
  EXPECT_EQ(b.node().device(), 0);
  EXPECT_EQ(tied.node().device(), 1);
  EXPECT_EQ(weights[0].node().device(), 0);  // read there first
  EXPECT_EQ(weights[2].node().device(), 1);
}

TEST_F(Splitting, SaysWhatLiesWhere) {
  Scope s(graph);
  Tensor a{apply(functor::Exp::op, s / "down", {x})}, b{apply(functor::Exp::op, s / "bottom", {a})};
  Tensor c{apply(functor::Exp::op, s / "up", {b})};
  EXPECT_EQ(describe_split({.device_of = {0, 1, 0}}, pass().nodes),
            "device 0: 0 GFLOP forward, down and up; device 1: 0 GFLOP forward, bottom");
  EXPECT_THAT(describe_split({.device_of = {0, 0, 1}}, pass().nodes),
              StartsWith("device 0: 0 GFLOP forward, down to bottom; "));
}

TEST_F(Splitting, Errors) {
  Tensor a = times(x, "a", 16), b = times(a, "b", 16);
  EXPECT_THAT(error_of([&] { split(3); }),
              HasSubstr("has 2 operations, which cannot be cut into 3 devices"));
  std::vector<SplitPass> uneven{pass(), {{&a.node()}, {}}};
  for (auto wrong :
       {+[](Graph&, std::span<const SplitPass> p) { split_placements(p, {.devices = 2}); },
        +[](Graph&g, std::span<const SplitPass> p) {
          place_split(g, {.device_of = {0, 1}}, p);
        }})
    EXPECT_THAT(error_of([&] { wrong(graph, uneven); }),
                HasSubstr("builds 2 operations for one batch and 1 for another"));
  Tensor c{apply(functor::Relu::op, (Scope(graph) / "head").on(1), {b})};
  std::vector<SplitPass> passes{pass()};
  std::string error = error_of([&] { place_split(graph, {.device_of = {0, 1, 1}}, passes); });
  EXPECT_THAT(error, StartsWith("split: "));
  EXPECT_THAT(error, HasSubstr("(at head) on device 1"));
}

}  // namespace
}  // namespace belfry
