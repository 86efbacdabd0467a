#include "faulty_disk.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <set>

#include "../framework/base/temporary_folder.h"
#include "belfry/framework/base/file.h"
#include "power_failure.h"
#include "trials.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

std::string content(const std::string& path) {
  return std::filesystem::exists(path) ? read_file(path) : "nothing";
}

void put(const std::string& path, std::string_view bytes, bool sync) {
  int file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0666);
  ASSERT_EQ(::write(file, bytes.data(), bytes.size()), std::ssize(bytes));
  ASSERT_TRUE(!sync || ::fsync(file) == 0);
  ::close(file);
}

void sync_names(const std::string& folder) {
  int file = ::open(folder.c_str(), O_RDONLY);
  ASSERT_EQ(::fsync(file), 0);
  ::close(file);
}

/// As for_each_power_failure(); these states are none that Belfry was tried with.
void for_each_state(const DiskLog& log, const std::function<void(const PowerFailure&)>& check,
                    std::int64_t drawn = 0) {
  for_each_power_failure(log, check, drawn, false);
}

/// The contents that file f may have after a power failure: while `write` runs, and once it has
/// returned.
std::pair<std::set<std::string>, std::set<std::string>> after_failures(const InFolder& write) {
  std::pair<std::set<std::string>, std::set<std::string>> out;
  auto old = [](const std::string& folder) { put(folder + "/f", "old!", true); };
  for_each_state(log_of(old, write), [&](const PowerFailure& failure) {
    (failure.marks == 0 ? out.first : out.second).insert(content(failure.folder + "/f"));
  });
  return out;
}

TEST(PowerFailure, TearsAFileThatIsWrittenInPlace) {
  auto [during, after] =
      after_failures([](const std::string& folder) { put(folder + "/f", "ABCD", false); });
  std::string zeros(4, '\0');
  EXPECT_THAT(after, UnorderedElementsAre("old!", "AB", zeros, "ABZZ", "ABCD"));
  EXPECT_THAT(during, UnorderedElementsAre("old!", "", "AB", zeros, "ABZZ", "ABCD"));
}

TEST(PowerFailure, LosesTheBytesOfAFileThatIsRenamedWithoutASync) {
  auto [during, after] = after_failures([](const std::string& folder) {
    put(folder + "/new", "ABCD", false);
    ::rename((folder + "/new").c_str(), (folder + "/f").c_str());
    sync_names(folder);
  });
  EXPECT_THAT(after, UnorderedElementsAre("", "AB", std::string(4, '\0'), "ABZZ", "ABCD"));
  EXPECT_TRUE(during.contains("old!"));
}

TEST(PowerFailure, UndoesARenameWithoutASyncOfTheFolder) {
  auto [during, after] = after_failures([](const std::string& folder) {
    put(folder + "/new", "ABCD", true);
    ::rename((folder + "/new").c_str(), (folder + "/f").c_str());
  });
  EXPECT_THAT(during, UnorderedElementsAre("old!", "ABCD"));
  EXPECT_THAT(after, UnorderedElementsAre("old!", "ABCD"));
}

TEST(PowerFailure, LeavesNoChoiceWhenAllIsSynced) {
  auto [during, after] = after_failures([](const std::string& folder) {
    put(folder + "/new", "ABCD", true);
    ::rename((folder + "/new").c_str(), (folder + "/f").c_str());
    sync_names(folder);
  });
  EXPECT_THAT(during, UnorderedElementsAre("old!", "ABCD"));
  EXPECT_THAT(after, ElementsAre("ABCD"));
}

TEST(PowerFailure, TakesANewFolderWithWhatIsInIt) {
  std::set<std::string> after;
  auto write = [](const std::string& folder) {
    ::mkdir((folder + "/d").c_str(), 0777);
    put(folder + "/d/f", "ABCD", true);
    sync_names(folder + "/d");
  };
  for_each_state(log_of([](auto&) {}, write), [&](const PowerFailure& failure) {
    if (failure.marks > 0) after.insert(content(failure.folder + "/d/f"));
  });
  EXPECT_THAT(after, UnorderedElementsAre("nothing", "ABCD"));
}

TEST(PowerFailure, KeepsOrLosesRemovalsAndLinksOneByOne) {
  std::set<std::set<std::string>> after;
  auto two = [](const std::string& folder) {
    put(folder + "/a", "a", true);
    put(folder + "/b", "b", true);
  };
  auto change = [](const std::string& folder) {
    std::filesystem::remove(folder + "/a");  // the standard library's calls are seen too
    std::filesystem::create_hard_link(folder + "/b", folder + "/c");
  };
  for_each_state(log_of(two, change), [&](const PowerFailure& failure) {
    if (failure.marks > 0) after.insert(names_in(failure.folder));
  });
  using Set = std::set<std::string>;
  EXPECT_THAT(after,
              UnorderedElementsAre(Set{"a", "b"}, Set{"b"}, Set{"a", "b", "c"}, Set{"b", "c"}));
}

TEST(PowerFailure, IsDrawnSoThatFilesLoseDifferentThings) {
  auto old = [](const std::string& folder) {
    put(folder + "/f", "old!", true);
    put(folder + "/g", "old!", true);
  };
  auto write = [](const std::string& folder) {
    put(folder + "/f", "ABCD", false);
    put(folder + "/g", "EFGH", false);
  };
  std::set<std::pair<std::string, std::string>> found;
  auto note = [&](const PowerFailure& failure) {
    if (failure.marks > 0)
      found.emplace(content(failure.folder + "/f"), content(failure.folder + "/g"));
  };
  for_each_state(log_of(old, write), note);
  std::size_t alike = found.size();
  EXPECT_FALSE(found.contains({"old!", "EFGH"}));
  for_each_state(log_of(old, write), note, 2000);
  EXPECT_GT(found.size(), alike);
  for (const char* f : {"old!", "", "A", "AB", "ABC", "ABCD", "AZZZ", "ABZZ", "ABCZ"})
    EXPECT_TRUE(found.contains({f, "EFGH"})) << f;
}

TEST(PowerFailure, LosesAnyBlocksOfAFile) {
  const std::string a(512, 'A'), b(512, 'B'), c(100, 'C'), zeros(512, '\0');
  auto old = [&](const std::string& folder) { put(folder + "/f", a + "b", true); };
  auto write = [&](const std::string& folder) {
    int file = ::open((folder + "/f").c_str(), O_WRONLY);
    ASSERT_EQ(::pwrite(file, (b + b + c).data(), 1124, 0), 1124);
    ::close(file);
  };
  std::set<std::string> found;
  for_each_state(
      log_of(old, write),
      [&](const PowerFailure& failure) {
        if (failure.marks > 0) found.insert(content(failure.folder + "/f"));
      },
      1000);
  const std::string second = "b" + zeros.substr(1);
  for (const std::string& one : {a, b})
    for (const std::string& two : {second, b})
      for (const std::string& three : {zeros.substr(0, 100), c})
        EXPECT_TRUE(found.contains(one + two + three)) << one[0] << two[0] << three[0];
}

class Faults : public ::testing::Test {
 protected:
  std::string write(std::string_view bytes) {
    int file = ::open((folder / "f").c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0666);
    auto written = file < 0 ? -1 : ::write(file, bytes.data(), bytes.size());
    std::string out = written < 0 ? std::strerror(errno) : std::to_string(written);
    if (file >= 0) ::close(file);
    return out;
  }
  TemporaryFolder folder;
};

TEST_F(Faults, ComeWhereTheyAreAskedFor) {
  FaultyDisk disk(folder.path());
  EXPECT_EQ(write("1234"), "4");
  EXPECT_EQ(disk.calls(), 3);
  disk.fail(5, EIO);  // the second write
  EXPECT_EQ(write("1234"), "Input/output error");
  EXPECT_EQ(disk.failed_kind(), DiskCall::write);
  disk.fail(3, ENOSPC, DiskCall::open);
  EXPECT_EQ(write("1234"), "No space left on device");
  EXPECT_EQ(write("1234"), "4");
}

TEST_F(Faults, ShortenInterruptAndFillTheDisk) {
  FaultyDisk disk(folder.path());
  disk.shorten_writes(3);
  EXPECT_EQ(write("12345"), "3");
  disk.leave_room(4);
  EXPECT_EQ(write("12345"), "3");
  EXPECT_EQ(write("12345"), "1");
  EXPECT_EQ(write("12345"), "No space left on device");
  disk.interrupt();
  EXPECT_EQ(write("12345"), "Interrupted system call");  // the open
}

TEST_F(Faults, AreOfOneFolderOnly) {
  TemporaryFolder other;
  FaultyDisk disk(other.path());
  disk.fail(1, EIO);
  EXPECT_EQ(write("12345"), "5");
  EXPECT_EQ(disk.calls(), 0);
}

TEST_F(Faults, KillBeforeAndAfterEachCall) {
  std::multiset<std::string> seen;
  int calls = kill_at_every_call([](auto&) {}, [](auto& in) { put(in + "/f", "1234", false); },
                                 [&](auto& in) { seen.insert(content(in + "/f")); }, false);
  EXPECT_EQ(calls, 3);  // open, write, close
  EXPECT_THAT(seen, UnorderedElementsAre("nothing", "", "", "1234", "1234", "1234"));
}

}  // namespace
}  // namespace belfry
