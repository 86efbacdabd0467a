#include "belfry/framework/base/folder_names.h"

#include <gmock/gmock.h>

#include <fstream>

#include "error_of.h"
#include "temporary_folder.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(PathIn, HasOneSlashBetweenFolderAndName) {
  EXPECT_EQ(path_in("runs", "a"), "runs/a");
  EXPECT_EQ(path_in("runs/", "a"), "runs/a");
  EXPECT_EQ(path_in("/", "a"), "/a");
  EXPECT_EQ(path_in("", "a"), "a");
}

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

TEST(IsFileAndIsFolder, FollowLinksAndSayWhenNobodyKnows) {
  TemporaryFolder folder;
  std::ofstream(folder / "file");
  std::filesystem::create_symlink("file", folder / "link");
  std::filesystem::create_symlink("nowhere", folder / "dangling");
  std::filesystem::create_symlink("loop", folder / "loop");
  EXPECT_TRUE(is_folder(folder.path()) && !is_file(folder.path()));
  EXPECT_TRUE(is_file(folder / "file") && !is_folder(folder / "file"));
  EXPECT_TRUE(is_file(folder / "link"));
  for (const char* name : {"missing", "dangling", "file/under"})
    EXPECT_FALSE(is_file(folder / name) || is_folder(folder / name)) << name;
  for (auto* asks : {is_file, is_folder})
    EXPECT_THAT(error_of([&] { asks(folder / "loop"); }),
                HasSubstr("cannot look at `" + (folder / "loop") + "`: Too many levels"));
}

TEST(RemoveTree, TakesAllThatIsInAFolderAndNoLinksEnd) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder / "tree/a/b");
  std::filesystem::create_directory(folder / "other");
  std::ofstream(folder / "tree/a/b/file");
  std::ofstream(folder / "other/file");
  std::filesystem::create_directory_symlink(folder / "other", folder / "tree/link");
  std::error_code error = std::make_error_code(std::errc::io_error);
  remove_tree(folder / "tree", error);
  EXPECT_FALSE(error);
  EXPECT_FALSE(std::filesystem::exists(folder / "tree"));
  EXPECT_TRUE(std::filesystem::exists(folder / "other/file"));
  remove_tree(folder / "tree", error);  // there is none
  EXPECT_FALSE(error);
  remove_tree(folder / "other/file", error);
  EXPECT_FALSE(error);
  EXPECT_FALSE(std::filesystem::exists(folder / "other/file"));
}

TEST(RemoveTree, SaysWhyItCannot) {
  std::error_code error;
  remove_tree("/proc/self/status", error);
  EXPECT_TRUE(error == std::errc::operation_not_permitted || error == std::errc::permission_denied)
      << error.message();
}

}  // namespace
}  // namespace belfry
