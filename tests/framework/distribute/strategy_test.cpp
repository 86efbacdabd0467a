#include "belfry/framework/distribute/strategy.h"

#include <gtest/gtest.h>

namespace belfry {
namespace {

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

TEST(Strategy, DevicesAreNamedOnceAndExist) {
  EXPECT_EQ(error_of({}), "devices: none is named; name one, for example cpu");
  EXPECT_EQ(error_of({"cpu", "cpu"}), "devices: `cpu` is named twice");
  EXPECT_EQ(error_of({"cpu:0", "cpu:1"}),
            "devices: 2 are named (cpu:0, cpu:1); this version trains on one");
  EXPECT_EQ(error_of({"gpu"}), "device: there is no `gpu` in this build; it knows cpu");
  EXPECT_EQ(error_of({"cpu:x"}),
            "device: `cpu:x` is not a device name; write for example cpu or cpu:0");
}

}  // namespace
}  // namespace belfry
