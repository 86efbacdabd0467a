#pragma once
// The states of a folder that a power failure may leave.

#include <cstdint>
#include <functional>
#include <string>

#include "../framework/base/from_environment.h"
#include "faulty_disk.h"

namespace belfry {

struct PowerFailure {
  std::string folder;  ///< what is found after it
  int marks = 0;       ///< how often FaultyDisk::mark() had been called
  std::string story;   ///< what is lost
};

/// Calls `check` for every state in which a power failure after each change of the log could leave
/// the folder; of those that are equal and between the same marks, for one:
///   - of the changes of names that no sync of their folder has followed, any may be lost: the
///     journals of file systems keep them in order, POSIX does not ask for it. A rename is lost in
///     whole. What is in a folder that is lost is lost.
///   - bytes that no sync of their file has followed are there, not there, there to the middle, or
///     the file has its new length but zeros or garbage in their place; so for all files.
/// Behind these come `drawn` more after each change, in which every file has lost something else:
/// up to any byte, or any of its blocks of 512 bytes while later ones are there.
/// BELFRY_POWER_FAILURES says how many unless the caller does, BELFRY_POWER_FAILURES_SEED which.
/// `counts`: the states are among those that were tried; not so where the states themselves are
/// tested.
/// Error: more than 12 changes of names are without a sync at once.
void for_each_power_failure(const DiskLog& log,
                            const std::function<void(const PowerFailure&)>& check,
                            std::int64_t drawn = from_environment("BELFRY_POWER_FAILURES", 1),
                            bool counts = true);

}  // namespace belfry
