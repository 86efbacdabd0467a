#include "belfry/framework/base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "belfry/framework/base/error.h"
#include "error_of.h"
#include "file_size_limit.h"
#include "temporary_folder.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StrEq;
using ::testing::ThrowsMessage;

std::span<const std::byte> bytes(std::string_view s) { return std::as_bytes(std::span(s)); }

TEST(WriteFileAtomically, WritesThePartsInOrderAndLeavesNothingElse) {
  TemporaryFolder folder;
  std::array parts{bytes("one "), bytes(""), bytes("two "), bytes("three")};
  write_file_atomically(folder / "f", parts);
  EXPECT_EQ(read_file(folder / "f"), "one two three");
  EXPECT_THAT(folder.names(), ElementsAre("f"));
}

TEST(WriteFileAtomically, ReplacesAFileByAShorterAndByAnEmptyOne) {
  TemporaryFolder folder;
  write_file_atomically(folder / "f", "a longer text");
  write_file_atomically(folder / "f", "short");
  EXPECT_EQ(read_file(folder / "f"), "short");
  write_file_atomically(folder / "f", "");
  EXPECT_EQ(read_file(folder / "f"), "");
  EXPECT_THAT(folder.names(), ElementsAre("f"));
}

TEST(WriteFileAtomically, TakesMorePartsThanOneSystemCallDoes) {
  TemporaryFolder folder;
  std::string expected;
  std::vector<std::string> texts;
  for (int i = 0; i < 5000; ++i) texts.push_back(std::to_string(i) + ";");
  std::vector<std::span<const std::byte>> parts;
  for (const std::string& s : texts) {
    parts.push_back(bytes(s));
    expected += s;
  }
  write_file_atomically(folder / "f", parts);
  EXPECT_EQ(read_file(folder / "f"), expected);
}

TEST(WriteFileAtomically, ReadersOfTheOldFileKeepIt) {
  TemporaryFolder folder;
  write_file_atomically(folder / "f", "old");
  RandomAccessFile reader(folder / "f");
  write_file_atomically(folder / "f", "new");
  std::string seen(3, '\0');
  reader.read(0, std::as_writable_bytes(std::span(seen)));
  EXPECT_EQ(seen, "old");
}

TEST(WriteFileAtomically, AFailedWriteLeavesTheOldFileAndNoTemporary) {
  TemporaryFolder folder;
  write_file_atomically(folder / "f", "precious");
  {
    FileSizeLimit limit(64 << 10);
    // Two parts: the first fits, so the write fails half-way.
    std::string half(48 << 10, 'x');
    std::array parts{bytes(half), bytes(half)};
    EXPECT_THAT([&] { write_file_atomically(folder / "f", parts); },
                ThrowsMessage<Error>(StrEq("cannot write `" + (folder / "f")
                                           + "`: File too large; raise the limit on the size of a "
                                             "file (ulimit -f)")));
  }
  EXPECT_EQ(read_file(folder / "f"), "precious");
  EXPECT_THAT(folder.names(), ElementsAre("f"));
}

TEST(WriteFileAtomically, AFolderThatIsMissingOrAFileIsAnError) {
  TemporaryFolder folder;
  write_file_atomically(folder / "f", "text");
  EXPECT_THAT([&] { write_file_atomically(folder / "none/f", ""); },
              ThrowsMessage<Error>(StrEq("cannot write `" + (folder / "none/f")
                                         + "`: No such file or directory; check the path; its "
                                           "folder must exist")));
  EXPECT_THAT([&] { write_file_atomically(folder / "f/g", ""); },
              ThrowsMessage<Error>(HasSubstr("f/g`: Not a directory; check the path")));
  EXPECT_EQ(read_file(folder / "f"), "text");
}

TEST(WriteFileAtomically, ATargetThatIsAFolderIsAnErrorAndLeavesNoTemporary) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder / "d");
  EXPECT_THAT([&] { write_file_atomically(folder / "d", "text"); },
              ThrowsMessage<Error>(
                  HasSubstr("d`: Is a directory; the path must name a file, not a folder")));
  EXPECT_THAT(folder.names(), ElementsAre("d"));
  EXPECT_THAT([&] { write_file_atomically(folder / "", "text"); },
              ThrowsMessage<Error>(HasSubstr("it names no file")));
}

TEST(WriteFileAtomically, ANameTooLongForItsTemporaryIsAnError) {
  TemporaryFolder folder;
  EXPECT_THAT([&] { write_file_atomically(folder / std::string(255, 'n'), ""); },
              ThrowsMessage<Error>(HasSubstr("`: File name too long; choose a shorter name")));
}

TEST(WriteFileAtomically, WritersOfOneFileDoNotMix) {
  TemporaryFolder folder;
  std::vector<std::thread> threads;
  for (char c : {'a', 'b', 'c', 'd'})
    threads.emplace_back([&folder, c] {
      std::string content(10'000, c);
      for (int i = 0; i < 20; ++i) write_file_atomically(folder / "f", content);
    });
  for (std::thread& thread : threads) thread.join();
  std::string content = read_file(folder / "f");
  EXPECT_EQ(content, std::string(10'000, content.at(0)));
  EXPECT_THAT(folder.names(), ElementsAre("f"));
}

TEST(WriteFileAtomically, TakesNoPlaceOfAPipeOrADevice) {
  TemporaryFolder folder;
  std::string path = folder / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0666), 0);
  EXPECT_EQ(error_of([&] { write_file_atomically(path, "text"); }),
            concat("cannot write `", path,
                   "`: a device, a pipe or a socket is there; choose another path"));
  EXPECT_TRUE(std::filesystem::is_fifo(path));
}

TEST(WriteFileAtomically, RelativePathsAndLinksAreReplacedInPlace) {
  TemporaryFolder folder;
  auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  write_file_atomically("f", "text");
  std::filesystem::current_path(before);
  EXPECT_EQ(read_file(folder / "f"), "text");

  std::filesystem::create_symlink("f", folder / "link");
  write_file_atomically(folder / "link", "other");
  EXPECT_FALSE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "f"), "text");
}

TEST(ReadFile, ReadsBytesOfAnyKindAndFilesWithoutASize) {
  TemporaryFolder folder;
  std::string content = std::string("\0\xff\n", 3) + std::string(100'000, 'z');
  write_file_atomically(folder / "f", content);
  EXPECT_EQ(read_file(folder / "f"), content);
  EXPECT_THAT(read_file("/proc/self/status"), HasSubstr("Threads:"));
}

TEST(ReadFile, SaysWhyItCannot) {
  TemporaryFolder folder;
  EXPECT_THAT([&] { read_file(folder / "none"); },
              ThrowsMessage<Error>(StrEq("cannot read `" + (folder / "none")
                                         + "`: No such file or directory; check the path; its "
                                           "folder must exist")));
  EXPECT_THAT([&] { read_file(folder.path()); },
              ThrowsMessage<Error>(HasSubstr("Is a directory; the path must name a file")));
}

TEST(RandomAccessFile, ReadsAnywhere) {
  TemporaryFolder folder;
  write_file_atomically(folder / "f", "0123456789");
  RandomAccessFile file(folder / "f");
  EXPECT_EQ(file.size(), 10);
  EXPECT_EQ(file.path(), folder / "f");
  std::string seen(4, '\0');
  file.read(6, std::as_writable_bytes(std::span(seen)));
  EXPECT_EQ(seen, "6789");
  file.read(0, std::as_writable_bytes(std::span(seen)));
  EXPECT_EQ(seen, "0123");
  file.read(10, {});
}

TEST(RandomAccessFile, AFileCutWhileOpenIsAnError) {
  TemporaryFolder folder;
  write_file_atomically(folder / "f", "0123456789");
  RandomAccessFile file(folder / "f");
  std::filesystem::resize_file(folder / "f", 6);
  std::string seen(8, '\0');
  EXPECT_THAT([&] { file.read(1, std::as_writable_bytes(std::span(seen))); },
              ThrowsMessage<Error>(StrEq("cannot read `" + (folder / "f")
                                         + "` at byte 6: it ends there, 3 bytes early; was it cut "
                                           "short while it was open?")));
}

TEST(RandomAccessFile, OnlyRegularFilesOpenAndPipesDoNotBlock) {
  TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const std::string& path : {folder / "pipe", folder.path(), std::string("/dev/zero")})
    EXPECT_THAT([&] { RandomAccessFile file(path); },
                ThrowsMessage<Error>(HasSubstr("`" + path + "`: it is not a regular file")));
  EXPECT_THAT([&] { RandomAccessFile file(folder / "none"); },
              ThrowsMessage<Error>(HasSubstr("none`: No such file or directory")));
}

TEST(RemoveStaleTemporaries, RemovesWhatDeadWritersLeftAndNothingElse) {
  TemporaryFolder folder;
  for (const char* name : {".model.tmp.123.0", ".model.safetensors.tmp.1.77"})
    write_file_atomically(folder / name, "left over");
  std::set<std::string> others{"model.tmp.123.0", ".model.tmp.123", ".model.tmp.x.0",
                               ".model.tmp.1.0x", ".tmp.1.2",       ".hidden",
                               "model",           ".model.tmp..0",  ".model.tmp.1."};
  for (const std::string& name : others) write_file_atomically(folder / name, "kept");
  EXPECT_EQ(remove_stale_temporaries(folder.path()), 2);
  EXPECT_EQ(folder.names(), others);
  EXPECT_EQ(remove_stale_temporaries(folder.path()), 0);
  EXPECT_EQ(remove_stale_temporaries(folder / "none"), 0);
}

TEST(RemoveStaleTemporaries, OfOneFileLeavesThoseOfOthers) {
  TemporaryFolder folder;
  for (const char* name : {".a.tmp.1.0", ".ab.tmp.1.1", ".a.tmp.1.2.tmp.1.3", ".b.tmp.1.4"})
    write_file_atomically(folder / name, "left over");
  EXPECT_EQ(remove_stale_temporaries(folder.path(), "a"), 1);
  EXPECT_EQ(folder.names(),
            (std::set<std::string>{".ab.tmp.1.1", ".a.tmp.1.2.tmp.1.3", ".b.tmp.1.4"}));
}

TEST(RemoveStaleTemporaries, LeavesTheTemporaryOfALivingWriter) {
  TemporaryFolder folder;
  // This writer's process id is taken by nobody, as it would be for one in another container.
  write_file_atomically(folder / ".model.tmp.4194999.0", "being written");
  int writer = ::open((folder / ".model.tmp.4194999.0").c_str(), O_WRONLY);
  ASSERT_EQ(::flock(writer, LOCK_EX), 0);
  EXPECT_EQ(remove_stale_temporaries(folder.path()), 0);
  ::close(writer);
  EXPECT_EQ(remove_stale_temporaries(folder.path()), 1);
}

TEST(RemoveStaleTemporaries, DoesNotDisturbWritersAtWork) {
  TemporaryFolder folder;
  std::atomic<bool> done = false;
  std::vector<std::thread> cleaners;
  for (int t = 0; t < 3; ++t)
    cleaners.emplace_back([&] {
      while (!done) remove_stale_temporaries(folder.path());
    });
  for (int i = 0; i < 100; ++i)
    EXPECT_NO_THROW(write_file_atomically(folder / "f", std::to_string(i)));
  done = true;
  for (std::thread& cleaner : cleaners) cleaner.join();
  EXPECT_EQ(read_file(folder / "f"), "99");
}

TEST(RemoveStaleTemporaries, AWriterKilledAtAnyMomentLeavesAWholeFileAndIsCleanedUpAfter) {
  TemporaryFolder folder;
  std::string old_content(1 << 20, 'o'), new_content(1 << 20, 'n');
  write_file_atomically(folder / "f", old_content);
  for (int round = 0; round < 20; ++round) {
    pid_t writer = ::fork();
    if (writer == 0) {
      while (true) {
        write_file_atomically(folder / "f", new_content);
        write_file_atomically(folder / "f", old_content);
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500 * round));
    ::kill(writer, SIGKILL);
    ::waitpid(writer, nullptr, 0);
    std::string content = read_file(folder / "f");
    EXPECT_TRUE(content == old_content || content == new_content);
    remove_stale_temporaries(folder.path());
    EXPECT_THAT(folder.names(), ElementsAre("f"));
  }
}

TEST(ProbeWritable, CreatesTheFolderAndLeavesItEmpty) {
  TemporaryFolder folder;
  probe_writable(folder / "a/b");
  EXPECT_TRUE(std::filesystem::is_empty(folder / "a/b"));
  probe_writable(folder / "a/b/");
  EXPECT_TRUE(std::filesystem::is_empty(folder / "a/b"));
}

TEST(ProbeWritable, NamesSettingFolderReasonAndRemedy) {
  TemporaryFolder folder;
  write_file_atomically(folder / "f", "a file");
  EXPECT_THAT([&] { probe_writable(folder / "f"); },
              ThrowsMessage<Error>(StrEq("model_dir: cannot write to `" + (folder / "f")
                                         + "`: Not a directory; choose another model_dir")));
  EXPECT_THAT([&] { probe_writable(folder / "f/g", "export_dir"); },
              ThrowsMessage<Error>(AllOf(HasSubstr("export_dir: cannot write to"),
                                         HasSubstr("Not a directory"),
                                         HasSubstr("choose another export_dir"))));
  // Even root may not create files here.
  EXPECT_THAT(
      [] { probe_writable("/proc/self/fd"); },
      ThrowsMessage<Error>(MatchesRegex("model_dir: cannot write to `/proc/self/fd`: .*; .*choose "
                                        "another model_dir")));
  EXPECT_THAT([] { probe_writable(""); }, ThrowsMessage<Error>(HasSubstr("the folder's name is "
                                                                         "empty")));
}

TEST(ProbeWritable, FindsAFullDiskOut) {
  TemporaryFolder folder;
  FileSizeLimit limit(0);
  EXPECT_THAT([&] { probe_writable(folder.path()); },
              ThrowsMessage<Error>(HasSubstr("`: File too large; ")));
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace belfry
