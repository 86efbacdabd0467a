#include "trials.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "../framework/base/temporary_folder.h"
#include "../trust/tell_count.h"
#include "belfry/framework/base/error.h"

namespace belfry {
namespace {

[[noreturn]] void write_and_die(const InFolder& write, const std::string& folder, int call,
                                bool after_it) {
  FaultyDisk disk(folder);
  disk.watch([&](int number, bool after) {
    if (number == call && after == after_it) ::raise(SIGKILL);
  });
  try {
    write(folder);
  } catch (const std::exception& error) {
    ::_exit(1);
  }
  ::_exit(0);
}

}  // namespace

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    out.insert(entry.path().filename().string());
  return out;
}

int kill_at_every_call(const InFolder& prepare, const InFolder& write, const InFolder& check,
                       bool counts) {
  std::int64_t kills = 0;
  for (int call = 1;; ++call)
    for (bool after : {false, true}) {
      TemporaryFolder folder;
      prepare(folder.path());
      pid_t child = ::fork();
      if (child == 0) write_and_die(write, folder.path(), call, after);
      int status = 0;
      ::waitpid(child, &status, 0);
      if (WIFEXITED(status)) {
        EXPECT_EQ(WEXITSTATUS(status), 0);
        if (counts) tell_count(kills, "kills at a call");
        return call - 1;
      }
      ++kills;
      SCOPED_TRACE(concat("killed ", after ? "after" : "before", " call ", call));
      check(folder.path());
    }
}

int fail_every_call(int error, const InFolder& prepare, const InFolder& write,
                    const std::function<void(const Failed&)>& check) {
  for (int call = 1;; ++call) {
    TemporaryFolder folder;
    prepare(folder.path());
    Failed failed;
    failed.folder = folder.path();
    failed.call = call;
    {
      FaultyDisk disk(folder.path());
      disk.fail(call, error);
      try {
        write(folder.path());
      } catch (const Error& thrown) {
        failed.message = thrown.what();
      }
      if (!disk.has_failed()) {
        tell_count(call - 1, "calls on files that failed");
        return call - 1;
      }
      failed.kind = disk.failed_kind();
    }
    SCOPED_TRACE(concat("call ", call, " failed"));
    check(failed);
  }
}

DiskLog log_of(const InFolder& prepare, const InFolder& write) {
  TemporaryFolder folder;
  prepare(folder.path());
  FaultyDisk disk(folder.path());
  write(folder.path());
  disk.mark();
  return disk.log();
}

}  // namespace belfry
