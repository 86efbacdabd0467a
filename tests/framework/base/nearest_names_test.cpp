#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "belfry/framework/base/text.h"

namespace belfry {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Distances: fc1 1, fc2 1, fc_11 1, conv1 5 of 5.
TEST(NearestNames, AreThoseWithFewestChanges) {
  EXPECT_THAT(nearest_names("fc_1", {"conv1", "fc1", "fc_11", "fc_1", "fc2"}),
              ElementsAre("fc_1", "fc1", "fc_11"));
  EXPECT_THAT(nearest_names("fc_1", {"fc2", "fc1"}), ElementsAre("fc1", "fc2"));
  EXPECT_THAT(nearest_names("kernel", {"kernle", "bias"}, 1), ElementsAre("kernle"));
}

TEST(NearestNames, AreNoneWhereMoreThanHalfDiffers) {
  EXPECT_THAT(nearest_names("abcd", {"abxy"}), ElementsAre("abxy"));
  EXPECT_THAT(nearest_names("abcd", {"axyz"}), IsEmpty());
  EXPECT_THAT(nearest_names("", {"a"}), IsEmpty());
  EXPECT_THAT(nearest_names("a", {}), IsEmpty());
}

}  // namespace
}  // namespace belfry
