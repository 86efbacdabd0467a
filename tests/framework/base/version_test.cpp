#include "belfry/version.h"

#include <gtest/gtest.h>

#include "belfry/framework/base/text.h"

namespace belfry {
namespace {

TEST(Version, OfHeadersAndLibraryIsOne) {
  EXPECT_EQ(version(), BELFRY_VERSION);
  EXPECT_EQ(version(),
            concat(BELFRY_VERSION_MAJOR, ".", BELFRY_VERSION_MINOR, ".", BELFRY_VERSION_PATCH));
}

TEST(Version, OfABuildNamesVersionAndCompiler) {
  EXPECT_TRUE(build_info().starts_with(concat(version(), " ("))) << build_info();
  EXPECT_TRUE(build_info().ends_with(")")) << build_info();
#ifdef __clang__
  EXPECT_NE(build_info().find(concat("Clang ", __clang_major__, ".")), std::string_view::npos);
#else
  EXPECT_NE(build_info().find(concat("GNU ", __GNUC__, ".")), std::string_view::npos);
#endif
}

}  // namespace
}  // namespace belfry
