#pragma once
// Folders that no other test sees: tests run beside each other, and gtest's TempDir() is one for
// all.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <string>

/// A folder for one test, removed with all it holds when the test ends.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_(::testing::TempDir() + "belfry.XXXXXX") {
    if (!::mkdtemp(path_.data())) ADD_FAILURE() << "cannot create " << path_;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// The names in the folder, hidden ones too.
  std::set<std::string> names() const {
    std::set<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      out.insert(entry.path().filename().string());
    return out;
  }

 private:
  std::string path_;
};

/// A new empty folder that stays until the program ends.
inline std::string new_folder() {
  static const TemporaryFolder all;
  static std::atomic<int> made = 0;
  std::string path = all / std::to_string(made++);
  std::filesystem::create_directory(path);
  return path;
}
