// The files that cache() and snapshot() leave on a disk that fails.

#include <filesystem>

#include "../data/pipeline.h"
#include "../framework/base/temporary_folder.h"
#include "belfry/framework/base/log.h"
#include "power_failure.h"
#include "trials.h"

namespace belfry::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t count = 5;
const Values all = counting(0, count);

Dataset cached(const std::string& folder) { return range(count) | cache(folder + "/f"); }
Dataset kept(const std::string& folder) { return range(count) | snapshot(folder + "/f"); }

class CachedData : public ::testing::Test {
 protected:
  void SetUp() override {
    before_ = set_log_sink([this](LogLevel, std::string_view line) { log += line; });
  }
  void TearDown() override { set_log_sink(before_); }
  InFolder nothing = [](auto&) {};
  std::string log;

 private:
  LogSink before_;
};

TEST_F(CachedData, IsRightAfterAPowerFailure) {
  for (auto make : {cached, kept}) {
    auto write = [&](const std::string& folder) { EXPECT_EQ(values(make(folder)), all); };
    for_each_power_failure(log_of(nothing, write), [&](const PowerFailure& failure) {
      SCOPED_TRACE(failure.story);
      bool there = std::filesystem::exists(failure.folder + "/f");
      EXPECT_TRUE(there || failure.marks == 0);
      EXPECT_TRUE(!there || values(from_snapshot(failure.folder + "/f")) == all);
      EXPECT_EQ(values(make(failure.folder)), all);
      EXPECT_EQ(names_in(failure.folder), (std::set<std::string>{"f"}));
    });
  }
}

TEST_F(CachedData, IsReadThoughItCannotBeKept) {
  auto read = [](const std::string& folder) { EXPECT_EQ(values(cached(folder)), all); };
  int unkept = 0;
  fail_every_call(ENOSPC, nothing, read, [&](const Failed& failed) {
    // A cache that cannot even be begun is an error of the path that was given.
    bool begun = failed.kind != DiskCall::open && failed.kind != DiskCall::duplicate;
    EXPECT_EQ(begun ? failed.message : "", "");
    if (!std::filesystem::exists(failed.folder + "/f")) ++unkept;
    EXPECT_THAT(names_in(failed.folder), ::testing::IsSubsetOf({"f"}));
    EXPECT_EQ(values(cached(failed.folder)), all);
    EXPECT_EQ(values(from_snapshot(failed.folder + "/f")), all);
  });
  EXPECT_GE(unkept, 4);  // open, write, sync, rename
  EXPECT_THAT(log, AllOf(HasSubstr("cache: nothing is kept of this pass: cannot write `"),
                         HasSubstr("No space left on device; free some space")));
}

TEST_F(CachedData, OfASnapshotThatFailsNothingIsLeft) {
  auto read = [](const std::string& folder) { EXPECT_EQ(values(kept(folder)), all); };
  int errors = 0;
  fail_every_call(EIO, nothing, read, [&](const Failed& failed) {
    if (!failed.message.empty()) {
      ++errors;
      EXPECT_THAT(failed.message, HasSubstr("Input/output error; check the disk"));
    }
    EXPECT_THAT(names_in(failed.folder), ::testing::IsSubsetOf({"f"}));
    EXPECT_EQ(values(kept(failed.folder)), all);
  });
  EXPECT_GE(errors, 5);
}

TEST_F(CachedData, DoesNotNoticeSignalsAndShortWrites) {
  for (auto make : {cached, kept}) {
    TemporaryFolder folder;
    FaultyDisk disk(folder.path());
    disk.interrupt();
    disk.shorten_writes(7);
    EXPECT_EQ(values(make(folder.path())), all);
    EXPECT_EQ(values(from_snapshot(folder / "f")), all);
    EXPECT_THAT(log, IsEmpty());
  }
}

}  // namespace
}  // namespace belfry::data
