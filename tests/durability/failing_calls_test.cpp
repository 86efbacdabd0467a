// The n-th call on files fails, or does half its work, and in a second run all behind it too:
// through checkpoints, events, reports, caches, snapshots, exports, lists of bad elements, and
// files of other programs' formats. Each run does its work, or says by an Error or a warning what
// it could not do and why; nothing is left behind, what was whole stays whole, and the same objects
// do the work afterwards.
//
// BELFRY_CALLS says how many n at most are tried in each way, spread evenly; 0: all.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "../framework/base/from_environment.h"
#include "../framework/base/temporary_folder.h"
#include "../trust/tell_count.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/log.h"
#include "faulty_disk.h"
#include "file_work.h"

namespace belfry {
namespace {

namespace fs = std::filesystem;

/// How calls fail; without an error, they are short.
struct Way {
  int error = 0;
  bool from_then = false;
};

std::string reason_of(int error) { return std::generic_category().message(error); }

std::string describe(const Way& way, int n) {
  return concat("call ", n, way.from_then ? " and all behind it" : "",
                way.error == 0 ? " short" : concat(" with `", reason_of(way.error), "`"));
}

void break_calls(FaultyDisk& disk, int n, const Way& way) {
  if (way.error == 0) {
    disk.shorten(n, way.from_then);
  } else if (way.error == EINTR && way.from_then) {
    disk.interrupt();  // each once: who is always interrupted never comes to an end
  } else {
    disk.fail_if_possible(n, way.error, way.from_then);
  }
}

/// The names in a folder and those in it; digits count for nothing.
std::multiset<std::string> names_below(const std::string& folder) {
  std::multiset<std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    std::string name = fs::relative(entry.path(), folder).string();
    std::ranges::replace_if(
        name, [](char c) { return c >= '0' && c <= '9'; }, '#');
    out.insert(name);
  }
  return out;
}

bool is_temporary(const std::string& name) { return name.find(".tmp.") != std::string::npos; }

/// How many files and folders below `folder` this process has open.
std::int64_t open_below(const std::string& folder) {
  std::error_code gone;
  return std::ranges::count_if(fs::directory_iterator("/proc/self/fd"), [&](const auto& entry) {
    return fs::read_symlink(entry.path(), gone).string().starts_with(folder + "/");
  });
}

/// Whether something may be left: it could not be removed, or is in a folder that could not be
/// opened again.
bool keeps_from_removing(const std::set<DiskCall>& failed, bool from_then) {
  bool folder = failed.contains(DiskCall::open_old) || failed.contains(DiskCall::open_folder)
                || failed.contains(DiskCall::list);
  return failed.contains(DiskCall::unlink) || failed.contains(DiskCall::remove_folder)
         || (from_then && folder);
}

class FailingCalls : public ::testing::TestWithParam<FileScenario> {
 protected:
  void SetUp() override {
    before_ = set_log_sink([this](LogLevel level, std::string_view line) {
      std::lock_guard lock(mutex_);
      if (level != LogLevel::info) warned_ += concat(line, "\n");
    });
    learn_calls();
  }
  void TearDown() override { set_log_sink(before_); }

  /// Runs the work where nothing fails, to see which calls it makes and what it leaves.
  void learn_calls() {
    TemporaryFolder folder;
    FileWork work = GetParam().begin(folder.path());
    FaultyDisk disk(folder.path());
    disk.count_reads();
    work.run();
    kinds_ = disk.kinds();
    names_ = names_below(folder.path());
    warnings_ = take_warned();
  }

  /// The warnings since the last time.
  std::string take_warned() {
    std::lock_guard lock(mutex_);
    return std::exchange(warned_, {});
  }

  /// Whether the work is done, by its own account. What it said is in said_.
  void attempt(const FileWork& work) {
    take_warned();
    std::string message;
    try {
      work.run();
    } catch (const Error& error) {
      message = error.what();
      threw_ = true;
    }
    said_ = take_warned() + message;
    said_nothing_ = said_ == warnings_;
  }

  void try_call(int n, const Way& way) {
    SCOPED_TRACE(describe(way, n));
    TemporaryFolder folder;
    FileWork work = GetParam().begin(folder.path());
    threw_ = false;
    std::set<DiskCall> failed;
    {
      FaultyDisk disk(folder.path());
      disk.count_reads();
      break_calls(disk, n, way);
      attempt(work);
      failed = disk.failed_kinds();
    }
    ++runs_;
    errors_ += threw_;
    said_something_ += !said_nothing_;
    check_left(folder.path(), work, failed, way.from_then);
    if (way.error == 0 || way.error == EINTR) {
      EXPECT_TRUE(said_nothing_) << said_;
    } else if (!said_nothing_) {
      EXPECT_NE(said_.find(folder.path()), std::string::npos) << said_;
      EXPECT_NE(said_.find(reason_of(way.error)), std::string::npos) << said_;
    }
    work.run();
    EXPECT_EQ(work.fault(true), "") << "afterwards; before, it had said: " << said_;
    EXPECT_EQ(open_below(folder.path()), 0) << "afterwards";
  }

  void check_left(const std::string& folder, const FileWork& work, const std::set<DiskCall>& failed,
                  bool from_then) {
    EXPECT_EQ(open_below(folder), 0);
    EXPECT_EQ(work.fault(said_nothing_), "") << "it has said: " << said_;
    std::multiset<std::string> names = names_below(folder);
    if (failed.contains(DiskCall::status))
      names.erase("training.lock");  // nobody knows whose it is
    if (keeps_from_removing(failed, from_then)) return;
    EXPECT_EQ(std::ranges::count_if(names, is_temporary), 0) << said_;
    if (said_nothing_) {
      EXPECT_EQ(names, names_);
    }
  }

  /// The calls that can fail in this way.
  std::vector<int> calls_for(const Way& way) const {
    std::vector<int> out;
    for (int n = 1; n <= std::ssize(kinds_); ++n) {
      DiskCall kind = kinds_[static_cast<std::size_t>(n) - 1];
      if (way.error == 0 ? can_be_short(kind) : can_fail_with(kind, way.error)) out.push_back(n);
    }
    bool all_alike = way.from_then && (way.error == 0 || way.error == EINTR);
    if (all_alike && !out.empty()) out.resize(1);
    return out;
  }

  std::vector<DiskCall> kinds_;
  std::multiset<std::string> names_;
  std::string warnings_;  // that come with work that is done
  std::string said_;      // by the last run: warnings, and the Error
  bool threw_ = false, said_nothing_ = false;
  std::int64_t runs_ = 0, errors_ = 0, said_something_ = 0;

 private:
  std::mutex mutex_;
  std::string warned_;  // by any thread
  LogSink before_;
};

TEST_P(FailingCalls, AreToldOfOrDoNoHarm) {
  std::int64_t wanted = from_environment("BELFRY_CALLS", 16), ways = 0;
  for (int error : {ENOSPC, EIO, EDQUOT, EMFILE, EINTR, 0})
    for (bool from_then : {false, true}) {
      std::vector<int> calls = calls_for({error, from_then});
      std::int64_t step = wanted == 0 ? 1 : std::ssize(calls) / wanted + 1;
      // The ways try different ones.
      for (std::int64_t i = ways++ % step; i < std::ssize(calls); i += step)
        try_call(calls[static_cast<std::size_t>(i)], {error, from_then});
    }
  EXPECT_GT(said_something_, 0);
  std::cout << GetParam().name << ": " << kinds_.size() << " calls, " << runs_ << " runs, "
            << errors_ << " of them with an error, " << said_something_ - errors_
            << " with a warning\n";
  tell_count(runs_, "calls on files that failed");
}

auto name_of = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Files, FailingCalls, ::testing::ValuesIn(file_scenarios()), name_of);
INSTANTIATE_TEST_SUITE_P(Formats, FailingCalls, ::testing::ValuesIn(format_scenarios()), name_of);
INSTANTIATE_TEST_SUITE_P(Trainings, FailingCalls, ::testing::ValuesIn(training_scenarios()),
                         name_of);

}  // namespace
}  // namespace belfry
