#include "belfry/framework/compiler/memory_planner.h"
#include "compiler_testing.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TransferEnd send(int number, int at) { return {number, at, true}; }
TransferEnd receive(int number, int at) { return {number, at, false}; }

TEST(Arrivals, WhoKnowsNothingOfTheReceiverMaySendAtOnce) {
  std::vector<std::vector<TransferEnd>> devices{{send(0, 5), send(1, 9)},
                                                {receive(0, 3), receive(1, 40)}};
  EXPECT_THAT(arrivals(devices), ElementsAre(0, 0));
}

// Device 0 sends behind its instructions 0 to 4; what comes back for it comes after these.
TEST(Arrivals, AnAnswerComesAfterTheQuestion) {
  std::vector<std::vector<TransferEnd>> devices{{send(0, 4), send(2, 7), receive(1, 20)},
                                                {receive(0, 1), send(1, 2), receive(2, 3)}};
  EXPECT_THAT(arrivals(devices), ElementsAre(0, 5, 0));
}

// The answer goes through a device that heard nothing of the receiver itself. The second of the two
// sends of device 0 is heard of too late.
TEST(Arrivals, WhatOthersKnewIsKnown) {
  std::vector<std::vector<TransferEnd>> devices{{send(0, 4), send(3, 8), receive(2, 30)},
                                                {receive(0, 0), send(1, 6), receive(3, 9)},
                                                {receive(1, 2), send(2, 3)}};
  EXPECT_THAT(arrivals(devices), ElementsAre(0, 0, 5, 0));
}

TEST(Arrivals, ACircleOfWaitingIsAnError) {
  std::vector<std::vector<TransferEnd>> devices{{receive(0, 0), send(1, 1)},
                                                {receive(1, 0), send(0, 1)}};
  EXPECT_THAT(error_of([&] { arrivals(devices); }), HasSubstr("in a circle"));
}

}  // namespace
}  // namespace belfry
