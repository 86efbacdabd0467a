#include "belfry/framework/distribute/variables.h"

#include <gmock/gmock.h>

#include "belfry/framework/distribute/strategy.h"
#include "belfry/framework/runtime/variable_store.h"

namespace belfry {
namespace {

using testing::ElementsAre;

VariableOptions options(std::string name, OverTowers over_towers, double initial = 6) {
  return {std::move(name),
          {{2}, DType::f32},
          constant_value(initial),
          VariableKind::statistic,
          over_towers};
}

std::vector<double> values(const Array& a) { return {a.at(0), a.at(1)}; }
Array pair(float a, float b) { return Array::of({a, b}); }

struct VariablesOverTowers : testing::Test {
  void make(const VariableOptions& o) {
    for (int t = 0; t < variables.towers(); ++t) variables.store(t).get_or_create(o, 1);
  }
  Variables variables{make_strategy({"cpu:0", "cpu:1", "cpu:2"})};
};

TEST_F(VariablesOverTowers, MirroredOnesAreWrittenEverywhere) {
  make(options("a", OverTowers::mirrored));
  variables.write("a", pair(3, 4));
  for (int t = 0; t < 3; ++t) EXPECT_THAT(values(variables.read("a", t)), ElementsAre(3, 4));
  EXPECT_THAT(values(variables.read("a")), ElementsAre(3, 4));
}

TEST_F(VariablesOverTowers, SumsAreReadAddedAndBeginOnTheFirst) {
  make(options("count", OverTowers::sum));
  EXPECT_THAT(values(variables.read("count")), ElementsAre(6, 6));
  variables.write("count", pair(1, 2), 0);
  variables.write("count", pair(10, 20), 1);
  variables.write("count", pair(100, 200), 2);
  EXPECT_THAT(values(variables.read("count")), ElementsAre(111, 222));
  variables.write("count", pair(7, 8));
  EXPECT_THAT(values(variables.read("count", 0)), ElementsAre(7, 8));
  EXPECT_THAT(values(variables.read("count", 2)), ElementsAre(0, 0));
}

TEST_F(VariablesOverTowers, MeansAreReadAveraged) {
  make(options("mean", OverTowers::mean));
  variables.write("mean", pair(1, 2), 0);
  variables.write("mean", pair(2, 4), 1);
  variables.write("mean", pair(6, 9), 2);
  EXPECT_THAT(values(variables.read("mean")), ElementsAre(3, 5));
  variables.write("mean", pair(7, 8));
  EXPECT_THAT(values(variables.read("mean", 2)), ElementsAre(7, 8));
}

TEST_F(VariablesOverTowers, OwnOnesAreReadFromTheFirst) {
  make(options("own", OverTowers::per_tower));
  variables.write("own", pair(1, 2), 0);
  variables.write("own", pair(2, 4), 1);
  EXPECT_THAT(values(variables.read("own")), ElementsAre(1, 2));
  EXPECT_THAT(values(variables.read("own", 1)), ElementsAre(2, 4));
}

TEST(VariablesCentral, TowersShareTheMemoryOfTheFirst) {
  Variables variables(
      make_strategy({"cpu:0", "cpu:1"}, BatchPolicy::global, VariablePlacement::central));
  auto at = [&](int tower, const VariableOptions& o) {
    return variables.store(tower).get_or_create(o, 1).data();
  };
  EXPECT_EQ(at(0, options("a", OverTowers::mirrored)), at(1, options("a", OverTowers::mirrored)));
  EXPECT_NE(at(0, options("b", OverTowers::mean)), at(1, options("b", OverTowers::mean)));
  EXPECT_EQ(variables.store(1).names(), std::vector<std::string>{"b"});
  EXPECT_TRUE(variables.contains("a"));
  variables.write("a", pair(1, 2), 1);
  EXPECT_THAT(values(variables.read("a", 0)), ElementsAre(1, 2));
}

}  // namespace
}  // namespace belfry
