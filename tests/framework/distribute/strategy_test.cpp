#include "belfry/framework/distribute/strategy.h"

#include <gmock/gmock.h>

namespace belfry {
namespace {

using testing::ElementsAre;

std::string error_of(const std::vector<std::string>& devices) {
  try {
    make_strategy(devices);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Strategy, OneTowerOnOneDevice) {
  Strategy strategy = make_strategy({"cpu"});
  ASSERT_EQ(strategy.towers.size(), 1u);
  ASSERT_EQ(strategy.towers[0].devices.size(), 1u);
  EXPECT_EQ(strategy.towers[0].devices[0]->name(), "cpu:0");
  EXPECT_EQ(strategy.describe_batch(64), "global batch 64 = 1 tower x 64");
}

TEST(Strategy, TowersNeedNoConsecutiveDevices) {
  Strategy strategy = make_strategy({"cpu:5", "cpu:0", "cpu:3"});
  ASSERT_EQ(strategy.size(), 3);
  EXPECT_EQ(strategy.towers[0].name(), "cpu:5");
  EXPECT_EQ(strategy.towers[2].name(), "cpu:3");
}

TEST(Strategy, ATowerMayHaveSeveralDevices) {
  Strategy strategy = make_strategy({"cpu:0+cpu:2", "cpu:1+cpu:3"});
  ASSERT_EQ(strategy.size(), 2);
  ASSERT_EQ(strategy.towers[1].devices.size(), 2u);
  EXPECT_EQ(strategy.towers[1].devices[1]->name(), "cpu:3");
  EXPECT_EQ(strategy.towers[0].name(), "cpu:0+cpu:2");
}

TEST(Strategy, DevicesAreNamedOnceAndExist) {
  EXPECT_EQ(error_of({}), "devices: none is named; name one, for example cpu");
  EXPECT_EQ(error_of({"cpu", "cpu"}), "devices: `cpu` is named twice");
  EXPECT_EQ(error_of({"cpu", "cpu:0"}), "devices: `cpu:0` is named twice");
  EXPECT_EQ(error_of({"cpu:0+cpu:1", "cpu:2+cpu:1"}), "devices: `cpu:1` is named twice");
  EXPECT_EQ(
      error_of({"cpu:0+cpu:1", "cpu:2"}),
      "devices: tower cpu:2 has 1 device but tower cpu:0+cpu:1 has 2; give all the same number");
  std::string remedy =
      " (named in RunConfig::devices; all_gpus_or_cpu() names what this machine has)";
  EXPECT_EQ(
      error_of({"gpu"}),
      "device: there is no `gpu` in this build; it knows cpu; NVIDIA's GPUs are cuda:0, cuda:1, "
      "..."
          + remedy);
  EXPECT_EQ(error_of({"cpu:x"}),
            "device: `cpu:x` is not a device name; write for example cpu or cpu:0" + remedy);
  EXPECT_EQ(error_of({"cpu:0+"}), "device: the name is empty; this build knows cpu" + remedy);
}

TEST(Strategy, RowsAreSplitAsEvenlyAsCanBe) {
  EXPECT_THAT(split_rows(15, 2), ElementsAre(RowRange{0, 8}, RowRange{8, 7}));
  EXPECT_THAT(split_rows(11, 4),
              ElementsAre(RowRange{0, 3}, RowRange{3, 3}, RowRange{6, 3}, RowRange{9, 2}));
  EXPECT_THAT(split_rows(2, 3), ElementsAre(RowRange{0, 1}, RowRange{1, 1}, RowRange{2, 0}));
  EXPECT_THAT(split_rows(0, 2), ElementsAre(RowRange{0, 0}, RowRange{0, 0}));
}

TEST(Strategy, SaysWhatABatchIs) {
  std::vector<std::string> four{"cpu:0", "cpu:1", "cpu:2", "cpu:3"}, two{"cpu:0", "cpu:1"};
  EXPECT_EQ(make_strategy(four).describe_batch(64), "global batch 64 = 4 towers x 16");
  EXPECT_EQ(make_strategy(two).describe_batch(15), "global batch 15 = 2 towers: 8 + 7");
  EXPECT_EQ(make_strategy(two).describe_batch(15, 2),
            "global batch 15 = 4 towers on 2 workers: 4 + 4 + 4 + 3");
  EXPECT_EQ(make_strategy(two, BatchPolicy::per_worker).describe_batch(15, 3),
            "global batch 45 = 3 workers x 15, each on 2 towers: 8 + 7");
  EXPECT_EQ(make_strategy(two, BatchPolicy::per_tower).describe_batch(16),
            "global batch 32 = 2 towers x 16");
}

}  // namespace
}  // namespace belfry
