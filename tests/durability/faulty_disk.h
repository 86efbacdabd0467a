#pragma once
// A disk that fails on demand. The test program defines the functions with which files are changed
// (open, write, fsync, rename, ...), so that every call that the code under test or the standard
// library makes goes through here; the code itself knows nothing of it. Files that are written
// through stdio or std::ofstream are not seen.

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace belfry {

enum class DiskCall : std::uint8_t {
  open,
  duplicate,  // fcntl(F_DUPFD)
  lock,
  write,
  truncate,
  sync,  // of a file or a folder
  close,
  rename,
  unlink,
  link,
  make_folder,
  remove_folder,
};

/// A change of a folder, or a call that makes changes durable.
struct DiskChange {
  enum class Kind : std::uint8_t {
    create,         ///< `path` is now the new file `file`
    write,          ///< `bytes` from `offset` on
    resize,         ///< to `offset` bytes
    sync,           ///< the bytes of `file` are durable
    sync_folder,    ///< the names in `path` are
    rename,         ///< `path` becomes `to`
    unlink,         ///< `path` is no more
    link,           ///< `to` is another name of `path`
    make_folder,    ///< `path`
    remove_folder,  ///< `path`
    mark            ///< see FaultyDisk::mark()
  } kind;
  int file = -1;        ///< a number that stays with the file under all its names
  std::string path;     ///< within the folder that is watched, which is "" itself
  std::string to = {};  ///< likewise
  std::int64_t offset = 0;
  std::string bytes = {};
};

/// The history of a folder.
struct DiskLog {
  std::map<std::string, int> names;     ///< at the beginning, all durable: a file's number, or ...
  static constexpr int is_folder = -1;  ///< ... this
  std::map<int, std::string> contents;  ///< of these files
  std::vector<DiskChange> changes;
};

/// While one lives, the calls that touch `folder` and what is in it are counted, logged, and fail
/// where that is asked for. There is one at a time. Thread rules: the code under test may use any
/// number of threads.
class FaultyDisk {
 public:
  explicit FaultyDisk(const std::string& folder);
  ~FaultyDisk();
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;

  /// Call `number` (from 1 on; of all calls, or of one kind) fails with this errno. A close closes
  /// in spite of it, as on Linux.
  void fail(int number, int error, std::optional<DiskCall> kind = {});
  /// Each call that a signal can interrupt is interrupted before it succeeds.
  void interrupt() { interrupting_ = true; }
  /// No write takes more bytes than that.
  void shorten_writes(std::size_t most) { longest_write_ = most; }
  /// The disk is full after so many bytes; the write that meets its end is a short one.
  void leave_room(std::size_t bytes) { room_ = bytes; }
  /// Called before and after each call, with its number.
  void watch(std::function<void(int number, bool after)> watcher) { watcher_ = std::move(watcher); }

  /// The code that writes relies on what it has done so far.
  void mark() { note({.kind = DiskChange::Kind::mark, .path = {}}); }

  int calls() const { return calls_; }
  const DiskLog& log() const { return log_; }
  /// The error that was asked for has occurred.
  bool has_failed() const { return failed_; }
  DiskCall failed_kind() const { return failed_kind_; }

  // ---- for the functions that stand before the system's
  static FaultyDisk* active();
  bool watches(const std::string& path) const;
  bool watches(int descriptor) const;
  /// Runs `real` unless it is to fail; after a success `note`.
  template <class Real, class Note>
  auto call(DiskCall kind, Real real, Note note) -> decltype(real());
  void opened(int descriptor, const std::string& path, bool created);
  void duplicated(int from, int to) { open_[to] = open_.at(from); }
  void closed(int descriptor) { open_.erase(descriptor); }
  void note(DiskChange change) {
    std::lock_guard lock(mutex_);
    log_.changes.push_back(std::move(change));
  }
  void renamed(const std::string& from, const std::string& to, DiskChange::Kind kind);
  void synced(int descriptor);
  void written(int descriptor, std::int64_t offset, std::string bytes);
  void resized(int descriptor, std::int64_t size);
  std::string relative(const std::string& path) const;
  std::size_t room_for(std::size_t bytes) const;

 private:
  struct Open {
    int file;
    std::string folder;  // if it is one
  };
  int file_number(std::uint64_t inode);
  int begin(DiskCall kind);
  void finish() const;

  std::string folder_;
  mutable std::recursive_mutex mutex_;
  std::map<int, Open> open_;              // by descriptor
  std::map<std::uint64_t, int> numbers_;  // of files, by inode
  int next_file_ = 0;
  DiskLog log_;
  int calls_ = 0, failing_call_ = 0, error_ = 0;
  std::optional<DiskCall> failing_kind_;
  DiskCall failed_kind_ = {};
  std::map<DiskCall, int> calls_of_kind_;
  bool interrupting_ = false, interrupted_ = false, failed_ = false;
  std::size_t longest_write_ = SIZE_MAX, room_ = SIZE_MAX;
  std::function<void(int, bool)> watcher_;
};

}  // namespace belfry
