#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "../base/error_of.h"
#include "belfry/framework/optimizers/minimize.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;

std::vector<std::size_t> indices(UpdateSet updates) {
  std::vector<std::size_t> out;
  for (std::size_t update : updates) out.push_back(update);
  return out;
}

TEST(UpdateSets, AreWrittenAsIndices) {
  EXPECT_THAT(indices({63, 0, 5, 0}), ElementsAre(0, 5, 63));
  EXPECT_THAT(indices({}), ElementsAre());
  EXPECT_EQ(error_of([] { UpdateSet{64}; }),
            "UpdateSet: there is no update 64; a step has at most 64");
}

TEST(UpdateSets, ContainWhatTheyWereGiven) {
  UpdateSet two{1, 3};
  EXPECT_FALSE(two.contains(0));
  EXPECT_TRUE(two.contains(1));
  EXPECT_TRUE(two.contains(3));
  EXPECT_FALSE(two.contains(64));
  EXPECT_FALSE(two.contains(65));  // 65 is 1 modulo 64
  EXPECT_FALSE(two.empty());
  EXPECT_TRUE(UpdateSet().empty());
}

TEST(UpdateSets, OfAllHaveEveryIndex) {
  EXPECT_EQ(indices(UpdateSet::all()).size(), 64u);
  EXPECT_THAT(indices(UpdateSet::first(3)), ElementsAre(0, 1, 2));
  EXPECT_THAT(indices(UpdateSet::first(0)), ElementsAre());
  EXPECT_EQ(indices(UpdateSet::first(63)).size(), 63u);
  EXPECT_EQ(UpdateSet::first(64), UpdateSet::all());
  EXPECT_EQ(UpdateSet::first(65), UpdateSet::all());
}

TEST(UpdateSets, AreJoinedAndCut) {
  UpdateSet a{0, 1}, b{1, 2};
  EXPECT_THAT(indices(a | b), ElementsAre(0, 1, 2));
  EXPECT_THAT(indices(a & b), ElementsAre(1));
  EXPECT_THAT(indices(b & UpdateSet::first(1)), ElementsAre());
  a |= {4};
  EXPECT_THAT(indices(a), ElementsAre(0, 1, 4));
  a &= {4, 5};
  EXPECT_THAT(indices(a), ElementsAre(4));
}

}  // namespace
}  // namespace belfry
