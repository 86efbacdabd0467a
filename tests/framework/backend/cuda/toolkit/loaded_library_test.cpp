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
  auto* root = reinterpret_cast<double (*)(double)>(math.address_of("cbrt"));
  EXPECT_EQ(root(27.0), 3.0);
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
  EXPECT_THAT([] { math.address_of("cubic_root"); },
              ThrowsMessage<Error>(AllOf(HasSubstr("cubic_root"), EndsWith("; install it"))));
}

}  // namespace
}  // namespace belfry::cuda
