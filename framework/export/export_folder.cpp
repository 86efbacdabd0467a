#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>

#include "belfry/framework/base/descriptor.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/base/folder_names.h"
#include "belfry/framework/export/export_model.h"
#include "belfry/framework/train/checkpoint.h"

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

constexpr std::string_view temporary_prefix = ".export.tmp.";

Descriptor open_folder(const std::string& path) {
  return Descriptor(
      retry([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }));
}

// Removes the temporary folders whose writers are dead: nobody holds their locks, as with the files
// of TemporaryFile. A folder that cannot be removed stays.
void remove_stale_folders(const std::string& dir) {
  std::error_code error;
  for (const std::string& name : names_in_folder(dir, error)) {
    if (!name.starts_with(temporary_prefix)) continue;
    Descriptor folder = open_folder(concat(dir, "/", name));
    std::error_code ignored;
    if (folder && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0)
      remove_tree(concat(dir, "/", name), ignored);
  }
}

// A folder that is removed with what is in it, unless it is given its final name. It is locked
// while this lives.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& dir) {
    static std::atomic<int> count = 0;
    create_folders(dir);
    do {
      path_ = concat(dir, "/", temporary_prefix, ::getpid(), ".", count++);
    } while (!make() || !lock());
  }
  ~TemporaryFolder() { remove(); }
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
  // False: there is one of another program, which may have the same process id on another host.
  bool make() {
    std::error_code error;
    bool made = fs::create_directory(path_, error);
    require(!error, "export: cannot create the folder `", path_, "`: ", error.message());
    return made;
  }

  // False when somebody took the folder for a stale one and removed it before it was locked. Where
  // there are no locks nothing is ever stale.
  bool lock() {
    lock_ = open_folder(path_);
    if (!lock_) {
      int error = errno;
      if (error == ENOENT) return false;
      remove();  // nobody destroys what is not made to its end
      fail("export: cannot open the folder `", path_, "`: ", reason_and_remedy(error));
    }
    struct stat status {};
    retry([&] { return ::flock(lock_.get(), LOCK_EX); });
    return ::fstat(lock_.get(), &status) != 0 || status.st_nlink > 0;
  }

  void remove() const {
    std::error_code ignored;  // it is a stale one then, which the next export removes
    try {
      if (!path_.empty()) remove_tree(path_, ignored);
    } catch (const std::bad_alloc&) {
    }
  }

  std::string path_;
  Descriptor lock_;
};

void sync_tree(const std::string& folder) {
  std::error_code error;
  for (const std::string& name : names_in_folder(folder, error)) {
    std::string entry = concat(folder, "/", name);
    if (std::error_code none; fs::symlink_status(entry, none).type() == fs::file_type::directory)
      sync_tree(entry);
  }
  require(!error, "export: cannot list `", folder, "`: ", error.message());
  sync_folder(folder);
}

// The exports in a folder, in the order of writing, as far as it can be read. One whose graph.json
// cannot be looked for is among them: who reads it is told why.
std::vector<std::string> exports_in(const std::string& dir, std::error_code& error) {
  std::vector<std::string> all;
  for (const std::string& name : names_in_folder(dir, error)) {
    std::error_code unknown;
    if (is_export_name(name)
        && (fs::exists(concat(dir, "/", name, "/graph.json"), unknown) || unknown))
      all.push_back(concat(dir, "/", name));
  }
  std::sort(all.begin(), all.end());
  return all;
}

// For messages: the newest export in a folder of `path`, or of <path>/export, where exporters of a
// training put theirs; empty when there is none.
std::string newest_further_down(const std::string& path) {
  std::string newest;
  for (const std::string& parent : {path, path + "/export"}) {
    std::error_code error;
    for (const std::string& name : names_in_folder(parent, error))
      if (auto all = exports_in(concat(parent, "/", name), error); !all.empty())
        if (newest.empty() || fs::path(newest).filename() < fs::path(all.back()).filename())
          newest = all.back();
  }
  return newest;
}

}  // namespace

std::string write_export_folder(const std::string& dir,
                                const std::function<void(const std::string&)>& fill) {
  remove_stale_folders(dir);
  TemporaryFolder folder(dir);
  const auto before = list_exports(dir);  // who cannot list them is told before the work
  fill(folder.path());
  sync_tree(folder.path());
  std::int64_t time = unix_seconds();
  // Names are in the order of writing, also where older ones of this second have been removed.
  if (!before.empty())
    time = std::max<std::int64_t>(time, std::stoll(fs::path(before.back()).filename()) + 1);
  while (!folder.rename(concat(dir, "/", time))) ++time;
  try {
    sync_folder(dir);
  } catch (const Error& error) {
    fail("export: `", dir, "/", time,
         "` is written, but a power failure may undo it: ", error.what());
  }
  return concat(dir, "/", time);
}

std::vector<std::string> list_exports(const std::string& dir) {
  std::error_code error;
  auto all = exports_in(dir, error);
  require_listed(dir, error, "exports");
  return all;
}

std::string newest_export(const std::string& path) {
  std::error_code error;
  bool is_export = fs::exists(path + "/graph.json", error);
  require(!error, "cannot look at `", path, "/graph.json`: ", reason_and_remedy(error.value()));
  if (is_export) return path;
  if (std::vector<std::string> all = list_exports(path); !all.empty()) return all.back();
  bool trained = !list_checkpoints(path).empty();
  std::string below = newest_further_down(path);
  fail("`", path, "` holds no export", trained ? ", but the checkpoints of a training" : "",
       ": there is no graph.json in it, nor in a folder in it whose name is a time of ten digits",
       !below.empty() ? concat("; the newest further down is `", below, "`")
       : trained      ? "; Estimator::export_model() writes exports"
                      : "");
}

}  // namespace belfry
