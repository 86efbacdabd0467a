#pragma once
// Code that writes files, tried with every fault of a disk.

#include <functional>
#include <set>
#include <string>

#include "faulty_disk.h"

namespace belfry {

/// The names in a folder, hidden ones too.
std::set<std::string> names_in(const std::string& folder);

using InFolder = std::function<void(const std::string& folder)>;

/// For each call on the disk that `write` makes in a folder which `prepare` has filled, twice: a
/// child process runs `write` and is killed before or after that call; then `check` looks at the
/// folder. Returns the number of calls. `counts`: as of for_each_power_failure().
int kill_at_every_call(const InFolder& prepare, const InFolder& write, const InFolder& check,
                       bool counts = true);

struct Failed {
  std::string folder;
  int call = 0;         ///< its number
  DiskCall kind = {};   ///< of the call
  std::string message;  ///< of the Error, or empty if `write` did its work all the same
};

/// The same, but that call fails with `error`. Returns the number of calls.
int fail_every_call(int error, const InFolder& prepare, const InFolder& write,
                    const std::function<void(const Failed&)>& check);

/// Runs `write` in a folder which `prepare` has filled, and returns what happened to it, with a
/// mark at the end.
DiskLog log_of(const InFolder& prepare, const InFolder& write);

}  // namespace belfry
