#include "belfry/data/formats/images/library_call.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "../../../framework/base/error_of.h"

namespace belfry::data {
namespace {

TEST(LibraryCall, AnErrorNamesWhatAndWhose) {
  LibraryCall call;
  errno = ENOMEM;  // left by somebody else
  auto leave = [&call] { call.leave("damaged"); };
  try {
    call.run(leave, "a.png", "libpng");
    FAIL() << "no error";
  } catch (const OutOfMemory&) {
    FAIL() << "memory was not short";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "a.png: damaged (libpng)");
  }
}

TEST(LibraryCall, AShortageOfMemoryIsToldFromDamage) {
  LibraryCall call;
  auto leave = [&call] {
    errno = ENOMEM;  // as malloc() does
    call.leave("insufficient memory");
  };
  EXPECT_THROW(call.run(leave, "a.png", "libpng"), OutOfMemory);
  EXPECT_EQ(error_of([&] { call.run(leave, "a.png", "libpng"); }),
            "a.png: insufficient memory (libpng)");
}

}  // namespace
}  // namespace belfry::data
