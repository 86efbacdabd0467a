#include "belfry/framework/base/log.h"

#include <gmock/gmock.h>

#include <exception>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "belfry/framework/base/error.h"

namespace belfry {
namespace {

using Lines = std::vector<std::pair<LogLevel, std::string>>;

/// Collects lines while it lives; puts the sink back that was there before.
class Capture {
 public:
  Capture()
      : before_(set_log_sink(
          [this](LogLevel level, std::string_view line) { lines_.emplace_back(level, line); })) {}
  ~Capture() { set_log_sink(before_); }
  const Lines& lines() const { return lines_; }

 private:
  Lines lines_;
  LogSink before_;
};

TEST(Log, TheSinkReceivesLevelAndLine) {
  Capture capture;
  log_info("step ", 3, " of ", 10);
  log_warning("slow input");
  log_line(LogLevel::error, "disk full");
  EXPECT_EQ(capture.lines(), (Lines{{LogLevel::info, "step 3 of 10"},
                                    {LogLevel::warning, "slow input"},
                                    {LogLevel::error, "disk full"}}));
}

// Stands for memory that is short while a line is joined.
struct Unprintable {
  friend std::string to_string(const Unprintable&) { throw std::bad_alloc(); }
};

TEST(Log, AShortageOfMemoryCostsALineAlone) {
  Capture capture;
  log_warning("a", Unprintable());
  log_info("b");
  EXPECT_EQ(
      capture.lines(),
      (Lines{{LogLevel::warning, "memory is short: there was none for the line that belongs here"},
             {LogLevel::info, "b"}}));
}

TEST(Log, TellsOfAFailure) {
  Capture capture;
  log_failure("train", std::make_exception_ptr(Error("disk full")));
  EXPECT_EQ(capture.lines(), (Lines{{LogLevel::error, "train: disk full"}}));
}

TEST(Log, ALineForWhichTheSinkThrowsGoesToStderr) {
  for (const std::exception_ptr& error :
       {std::make_exception_ptr(Error("no terminal")), std::make_exception_ptr(std::bad_alloc())}) {
    LogSink before =
        set_log_sink([&](LogLevel, std::string_view) { std::rethrow_exception(error); });
    ::testing::internal::CaptureStderr();
    log_warning("slow input");
    log_failure("train", std::make_exception_ptr(Error("disk full")));
    set_log_sink(before);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                ::testing::MatchesRegex(".* warning: slow input\n.* error: train: disk full\n"));
  }
}

TEST(Log, WithoutASinkLinesGoToStderrWithTheirLevel) {
  ::testing::internal::CaptureStderr();
  log_info("100% done");
  log_warning("b");
  log_line(LogLevel::error, "c");
  std::string time = "[0-9][0-9]:[0-9][0-9]:[0-9][0-9] ";
  EXPECT_THAT(
      ::testing::internal::GetCapturedStderr(),
      ::testing::MatchesRegex(time + "100% done\n" + time + "warning: b\n" + time + "error: c\n"));
}

TEST(Log, SetLogSinkReturnsTheSinkBefore) {
  int calls = 0;
  EXPECT_FALSE(set_log_sink([&](LogLevel, std::string_view) { ++calls; }));
  LogSink before = set_log_sink({});
  ASSERT_TRUE(before);
  before(LogLevel::info, "");
  EXPECT_EQ(calls, 1);
}

TEST(Log, TheSinkIsNeverCalledFromTwoThreadsAtOnce) {
  Capture capture;  // its vector is not guarded: a race would lose lines or crash
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 500; ++i) log_info("line ", i);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(capture.lines().size(), 2000u);
}

}  // namespace
}  // namespace belfry
