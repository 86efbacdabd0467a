#pragma once
// Work on files that is tried with failing calls, and how one sees what it has left.

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace belfry {

/// Work in one folder. What its functions share lives as long as they do, so that work which is
/// done again is done by the same objects.
struct FileWork {
  /// May fail.
  std::function<void()> run;
  /// Called where nothing fails: what is wrong with the files, or with what run() has read; empty
  /// if nothing is. `done`: run() has done its work, the last time it ran; else it may have done
  /// any part of it.
  std::function<std::string(bool done)> fault;
};

/// A kind of work: `begin` fills a new folder, and nothing fails there.
struct FileScenario {
  std::string name;
  std::function<FileWork(const std::string& folder)> begin;
};
inline void PrintTo(const FileScenario& scenario, std::ostream* to) { *to << scenario.name; }

/// Wrong unless `found` is one of these.
std::string not_among(const std::string& found, const std::vector<std::string>& right);
/// Work that only reads: run() finds the same each time, or fails.
FileWork reading(std::function<std::string()> read);

/// Work on single files, and on whole folders of them.
std::vector<FileScenario> file_scenarios();
/// Files of other programs' formats, read and written.
std::vector<FileScenario> format_scenarios();
/// Trainings: checkpoints, and the files of hooks.
std::vector<FileScenario> training_scenarios();

}  // namespace belfry
