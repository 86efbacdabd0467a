// Covers toolkit/loaded_library.h, with a library that every machine has.
#include "belfry/framework/backend/cuda/toolkit/loaded_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "belfry/framework/base/error.h"

namespace belfry::cuda {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const LoadedLibrary math("libm.so.6", "install it");
const LoadedLibrary missing("libbelfry-is-not-there.so.1", "train on one GPU");

TEST(LoadedLibrary, HasItsFunctions) {
  auto* floor = reinterpret_cast<double (*)(double)>(math.address_of("floor"));
  EXPECT_EQ(floor(2.5), 2);
}

TEST(LoadedLibrary, AFunctionIsCalledByItsDeclaration) {
  EXPECT_EQ(BELFRY_LOADED(math, lround)(2.5), 3);
}

TEST(LoadedLibrary, IsMissedWhenItIsNeeded) {
  EXPECT_THAT(
      [] { missing.address_of("f"); },
      ThrowsMessage<Error>(AllOf(HasSubstr("libbelfry-is-not-there.so.1"),
                                 HasSubstr("No such file"), EndsWith("; train on one GPU"))));
}

TEST(LoadedLibrary, MayLackAFunction) {
  EXPECT_THAT([] { math.address_of("round_down"); },
              ThrowsMessage<Error>(AllOf(HasSubstr("round_down"), EndsWith("; install it"))));
}

}  // namespace
}  // namespace belfry::cuda
