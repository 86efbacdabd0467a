#include "belfry/framework/export/export_folder.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"

namespace belfry {
namespace {

namespace fs = std::filesystem;

std::int64_t unix_seconds() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

bool is_export_name(const std::string& name) {
  return name.size() == 10
         && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// A folder that is removed with what is in it, unless it is given its final name.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& dir) {
    static std::atomic<int> count = 0;
    path_ = concat(dir, "/.export.tmp.", ::getpid(), ".", count++);
    create_folders(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

  /// False: there is something of this name. A folder is never renamed to one that is not empty.
  bool rename(const std::string& name) {
    std::error_code error;
    if (fs::exists(name, error)) return false;
    if (std::rename(path_.c_str(), name.c_str()) == 0) {
      path_.clear();
      return true;
    }
    require(errno == EEXIST || errno == ENOTEMPTY, "export: cannot rename `", path_, "` to `", name,
            "`: ", std::strerror(errno));
    return false;
  }

 private:
  std::string path_;
};

void sync_tree(const std::string& folder) {
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (std::error_code none; entry->is_directory(none)) sync_folder(entry->path());
  require(!error, "export: cannot list `", folder, "`: ", error.message());
  sync_folder(folder);
}

}  // namespace

std::string write_export_folder(const std::string& dir,
                                const std::function<void(const std::string&)>& fill) {
  TemporaryFolder folder(dir);
  fill(folder.path());
  sync_tree(folder.path());
  std::int64_t time = unix_seconds();
  while (!folder.rename(concat(dir, "/", time))) ++time;
  sync_folder(dir);
  return concat(dir, "/", time);
}

std::string newest_export(const std::string& path) {
  std::error_code error;
  if (fs::exists(path + "/graph.json", error)) return path;
  std::string newest;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename();
    std::error_code none;
    if (is_export_name(name) && fs::exists(entry->path() / "graph.json", none))
      newest = std::max(newest, name);
  }
  require(!newest.empty(), "`", path,
          "` holds no export: there is no graph.json in it, nor in a folder in it whose name is a "
          "time of ten digits");
  return path + "/" + newest;
}

}  // namespace belfry
