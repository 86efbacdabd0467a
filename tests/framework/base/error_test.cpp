#include "belfry/framework/base/error.h"

#include <gmock/gmock.h>

#include <memory>
#include <optional>
#include <stdexcept>

namespace belfry {
namespace {

using ::testing::StrEq;
using ::testing::ThrowsMessage;

TEST(Error, RequireJoinsItsArgumentsWhenTheConditionFails) {
  EXPECT_NO_THROW(require(true, "not shown"));
  EXPECT_THAT([] { require(false, "expected ", 3, " channels, got ", 1); },
              ThrowsMessage<Error>(StrEq("expected 3 channels, got 1")));
}

TEST(Error, ConditionsMayBeAnythingThatTestsAsBool) {
  EXPECT_NO_THROW(require(std::make_unique<int>(1), "pointer"));
  EXPECT_THAT([] { require(std::optional<int>(), "empty"); }, ThrowsMessage<Error>(StrEq("empty")));
}

TEST(Error, EnsureSaysThatTheFaultIsOurs) {
  EXPECT_NO_THROW(ensure(true, "not shown"));
  EXPECT_THAT(
      [] { ensure(false, "plan has ", 2, " ends"); },
      ThrowsMessage<Error>(StrEq("internal error in Belfry, please report it: plan has 2 ends")));
}

TEST(Error, ContextIsAddedInnermostFirst) {
  auto fails = [] {
    with_context("step 7", [] {
      with_context("at generator/up1",
                   [] { fail("conv2d: input has 3 channels but the filter expects 1"); });
    });
  };
  EXPECT_THAT(fails,
              ThrowsMessage<Error>(StrEq("conv2d: input has 3 channels but the filter expects 1 "
                                         "(at generator/up1) (step 7)")));
}

TEST(Error, WithContextPassesResultsAndOtherExceptionsOn) {
  int value = 3;
  int& reference = with_context("unused", [&]() -> int& { return value; });
  EXPECT_EQ(&reference, &value);
  EXPECT_THAT([] { with_context("unused", [] { throw std::runtime_error("foreign"); }); },
              ThrowsMessage<std::runtime_error>(StrEq("foreign")));
}

}  // namespace
}  // namespace belfry
