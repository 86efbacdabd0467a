#include "belfry/framework/train/step/towers.h"

#include "../comparing.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;

TEST(Towers, AreThoseOfTheConfiguration) {
  Towers towers(on_cpus(2, 2));
  EXPECT_EQ(std::tuple(towers.count(), towers.devices_per_tower()), std::tuple(2, 2));
  ASSERT_EQ(towers.devices(1).size(), 2u);
  EXPECT_EQ(towers.devices(1)[0]->name(), "cpu:2");
  EXPECT_EQ(towers.devices(1)[1]->name(), "cpu:3");
  EXPECT_EQ(std::tuple(towers.range().first, towers.range().all), std::tuple(0, 2));
  EXPECT_EQ(towers.description(), "cpu:0+cpu:1, cpu:2+cpu:3, 1 thread each");
  EXPECT_TRUE(towers.on_host());
  EXPECT_EQ(towers.lanes().towers(), 4);
}

TEST(Towers, OthersThanTheFirstHoldCentralVariablesOnlyWhereTheyDiffer) {
  VariableOptions common{.name = "w", .type = {{}, DType::f32}}, own = common;
  own.over_towers = OverTowers::per_tower;
  RunConfig config = on_cpus(2, 1);
  Towers mirrored(config);
  EXPECT_TRUE(mirrored.holds(common, 1));
  config.variables = VariablePlacement::central;
  Towers central(config);
  EXPECT_TRUE(central.holds(common, 0));
  EXPECT_FALSE(central.holds(common, 1));
  EXPECT_TRUE(central.holds(own, 1));
}

TEST(Towers, AreConnectedByACommunicatorForEachDevice) {
  Towers one(on_cpus(1, 2));
  EXPECT_FALSE(one.connected());
  one.connect();
  EXPECT_TRUE(one.connected());
  EXPECT_EQ(one.communicator(0), nullptr);
  Towers two(on_cpus(2, 2));
  two.connect();
  Communicator* first = two.communicator(0);
  EXPECT_NE(first, nullptr);
  EXPECT_NE(first, two.communicator(1));
  two.connect();
  EXPECT_EQ(two.communicator(0), first);
  two.failed(Error("one has thrown"));  // the communicator is of no use any more
  two.connect();
  EXPECT_NE(two.communicator(0), first);
}

TEST(Towers, HaveAsManyDevicesAsTheModelIsCutInto) {
  RunConfig config = on_cpus(1, 2);
  config.split = auto_split(3);
  EXPECT_THAT(error_of([&] { Towers towers(config); }),
              HasSubstr("RunConfig: split is into 3 devices but tower cpu:0+cpu:1 has 2;"));
}

}  // namespace
}  // namespace belfry
