#include "belfry/hooks/tensorboard/event_file.h"

#include <gmock/gmock.h>

#include <fstream>
#include <thread>

#include "../../../framework/base/bytes.h"
#include "../../../framework/base/error_of.h"
#include "../../../framework/base/file_size_limit.h"
#include "../../../framework/base/temporary_folder.h"
#include "../../hooks_support.h"
#include "../events.h"
#include "belfry/hooks/tensorboard/summary_values.h"

namespace belfry::hooks {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::SizeIs;

constexpr auto hour = std::chrono::hours(1);

struct EventFileTest : testing::Test {
  TemporaryFolder folder;
  CapturedLog log;
};

TEST_F(EventFileTest, RecordsAreEventsOfTensorFlow) {
  EventFile file(folder / "run/1", {.wall_time = [] { return 1.0; }});
  file.add_session(7, SessionStatus::start);
  file.add(300, {scalar_summary("loss", 0.5)});
  file.add(300, {scalar_summary("a", 1), scalar_summary("b", -2)});
  file.add_session(300, SessionStatus::checkpoint, "c");
  file.add_graph(0, hex("aa bb"));
  file.flush();
  const ByteVector time = hex("09 00 00 00 00 00 00 f0 3f");  // field 1 = 1.0
  EXPECT_THAT(
      records_of(file.path()),
      ElementsAre(
          time
              + hex("1a 0d 62 72 61 69 6e 2e 45 76 65 6e 74 3a 32"  // "brain.Event:2"
                    "52 18 0a 16 62 65 6c 66 72 79 2e 68 6f 6f 6b 73 2e"
                    "45 76 65 6e 74 46 69 6c 65"),  // "belfry.hooks.EventFile"
          time + hex("10 07 3a 02 08 01"),
          time + hex("10 ac 02 2a 0d 0a 0b 0a 04 6c 6f 73 73 15 00 00 00 3f"),
          time + hex("10 ac 02 2a 14 0a 08 0a 01 61 15 00 00 80 3f 0a 08 0a 01 62 15 00 00 00 c0"),
          time + hex("10 ac 02 3a 05 08 03 12 01 63"), time + hex("22 02 aa bb")));
}

TEST_F(EventFileTest, NamesAreInTheOrderOfTheFiles) {
  std::vector<std::string> names;
  for (int i = 0; i < 12; ++i) {
    EventFile file(folder.path(), {.wall_time = [] { return 1234567.9; }});
    file.add_session(i, SessionStatus::start);
    names.push_back(file.path());
  }
  EXPECT_THAT(
      names[0],
      MatchesRegex(folder.path()
                   + "/events.out.tfevents.0001234567\\..+\\.[0-9]+\\.[0-9][0-9][0-9][0-9]"));
  EXPECT_EQ(event_files(folder.path()), names);
}

TEST_F(EventFileTest, IsReadWhileItGrows) {
  EventFile file(folder.path(), {.flush = hour});
  file.add(1, {scalar_summary("x", 1)});
  file.flush();
  EXPECT_THAT(words_of(file.path()), ElementsAre("version", "1 x=1"));
  file.add(2, {scalar_summary("x", 2)});
  file.flush();
  EXPECT_THAT(words_of(file.path()), ElementsAre("version", "1 x=1", "2 x=2"));
  EXPECT_THAT(folder.names(), SizeIs(1));
}

TEST_F(EventFileTest, TheEndWritesWhatIsLeft) {
  {
    EventFile file(folder.path(), {.flush = hour});
    for (int i = 1; i <= 3; ++i) file.add(i, {scalar_summary("x", i)});
  }
  EXPECT_THAT(words_of(event_files(folder.path()).at(0)),
              ElementsAre("version", "1 x=1", "2 x=2", "3 x=3"));
}

TEST_F(EventFileTest, EveryThreadsEventsAreThereInItsOrder) {
  constexpr int threads = 4, events = 500;
  {
    EventFile file(folder.path(), {.flush = std::chrono::milliseconds(0), .queue = 2});
    std::vector<std::thread> adding;
    for (int t = 0; t < threads; ++t)
      adding.emplace_back([&file, t] {
        for (int i = 1; i <= events; ++i) file.add(i, {scalar_summary(text(t), i)});
        file.flush();
      });
    for (std::thread& thread : adding) thread.join();
  }
  std::vector<int> last(threads);
  auto words = words_of(event_files(folder.path()).at(0));
  EXPECT_THAT(words, SizeIs(1 + threads * events));
  for (std::size_t i = 1; i < words.size(); ++i) {
    auto thread = static_cast<std::size_t>(words[i][words[i].find(' ') + 1] - '0');
    EXPECT_EQ(std::stoi(words[i]), ++last[thread]);
  }
}

TEST_F(EventFileTest, AValueThatCannotBeEncodedIsLeftOut) {
  EventFile file(folder.path());
  file.add(1, {scalar_summary("x", 1)});
  file.add(2, {[](protobuf::WireWriter&) { fail("no such thing"); }});
  file.add(3, {scalar_summary("x", 3)});
  file.flush();
  EXPECT_THAT(words_of(file.path()), ElementsAre("version", "1 x=1", "3 x=3"));
  EXPECT_THAT(log.lines, ElementsAre("event file: a value at step 2 is left out: no such thing"));
}

TEST_F(EventFileTest, WithoutAFolderItWarnsOnceAndTriesAgain) {
  std::ofstream(folder / "run") << "a file";
  EventFile file(folder / "run");
  for (int i = 1; i <= 3; ++i) {
    file.add(i, {scalar_summary("x", i)});
    file.flush();
  }
  EXPECT_THAT(log.lines, ElementsAre(AllOf(HasSubstr("cannot write to `" + file.path()),
                                           HasSubstr("; what cannot be written will be missing"))));
  std::filesystem::remove(folder / "run");
  file.add(4, {scalar_summary("x", 4)});
  file.flush();
  EXPECT_THAT(words_of(file.path()), ElementsAre("version", "4 x=4"));
}

// A reader that has seen the beginning of a record waits for its rest.
TEST_F(EventFileTest, AfterAFullDiskTheRecordThatHadBegunIsFinished) {
  for (rlim_t bytes : {0, 1, 30, 66, 67, 68, 100, 130, 150}) {
    SCOPED_TRACE(bytes);
    EventFile file(folder.path(), {.flush = hour});
    {
      FileSizeLimit limit(bytes);
      for (int i = 1; i <= 9; ++i) file.add(i, {scalar_summary("x", i)});
      file.flush();
      file.add(99, {scalar_summary("x", 99)});  // the disk is still full
      file.flush();
      EXPECT_EQ(std::filesystem::file_size(file.path()), bytes);
    }
    file.add(10, {scalar_summary("x", 10)});
    file.flush();
    std::vector<std::string> expected{"version"};
    // The first record has 16 + 9 + 15 + 26 bytes, the others 16 + 9 + 2 + 12.
    for (rlim_t begin = 66; begin < bytes; begin += 39)
      expected.push_back(concat(expected.size(), " x=", expected.size()));
    expected.push_back("10 x=10");
    EXPECT_EQ(words_of(file.path()), expected);
  }
  EXPECT_THAT(log.lines, SizeIs(9));
}

TEST_F(EventFileTest, OptionsMustBeInRange) {
  EXPECT_EQ(error_of([&] { EventFile(folder.path(), {.queue = 0}); }),
            "event file: the queue must hold at least 1 event");
  EXPECT_EQ(error_of([&] { EventFile(folder.path(), {.flush = std::chrono::milliseconds(-1)}); }),
            "event file: flush is -1 ms; it must be at least 0 and at most a year");
  EXPECT_THAT(
      error_of([&] { EventFile(folder.path(), {.flush = std::chrono::milliseconds::max()}); }),
      HasSubstr("at most a year"));
  EXPECT_THAT(folder.names(), IsEmpty());
}

}  // namespace
}  // namespace belfry::hooks
