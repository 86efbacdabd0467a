#include "belfry/framework/base/folder_names.h"

#include <gmock/gmock.h>

#include <fstream>

#include "temporary_folder.h"

namespace belfry {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(NamesInFolder, AreFilesFoldersAndHiddenOnes) {
  TemporaryFolder folder;
  std::error_code error = std::make_error_code(std::errc::io_error);
  EXPECT_THAT(names_in_folder(folder.path(), error), IsEmpty());
  EXPECT_FALSE(error);
  std::ofstream(folder / "file");
  std::ofstream(folder / ".hidden");
  std::filesystem::create_directory(folder / "a folder");
  std::filesystem::create_symlink("nowhere", folder / "link");
  EXPECT_THAT(names_in_folder(folder.path(), error),
              UnorderedElementsAre("file", ".hidden", "a folder", "link"));
  EXPECT_FALSE(error);
}

TEST(NamesInFolder, SayWhyThereAreNone) {
  TemporaryFolder folder;
  std::error_code error;
  EXPECT_THAT(names_in_folder(folder / "missing", error), IsEmpty());
  EXPECT_EQ(error, std::errc::no_such_file_or_directory);
  std::ofstream(folder / "file");
  EXPECT_THAT(names_in_folder(folder / "file", error), IsEmpty());
  EXPECT_EQ(error, std::errc::not_a_directory);
}

}  // namespace
}  // namespace belfry
