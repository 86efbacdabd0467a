#pragma once
// A disk that fails on demand. The test program defines the functions with which files are changed
// (open, write, fsync, rename, ...) and read (read, stat, readdir, ...), so that every call that
// the code under test or the standard library makes goes through here; the code itself knows
// nothing of it. Files that are written through stdio or std::ofstream are not seen.

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
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
  // ---- those that only read, which count where count_reads() asks for it
  read,
  status,       // stat and its relatives, access
  open_folder,  // opendir
  list,         // readdir
  open_old,     // open without O_CREAT; where reads do not count it is `open`
};

/// Whether a signal can interrupt such a call.
bool can_be_interrupted(DiskCall kind);
/// Whether such a call can fail with this error: a disk is full only for what adds to it, a limit
/// on open files is met only where one is opened, and signals are another matter.
bool can_fail_with(DiskCall kind, int error);
/// Whether it can transfer fewer bytes than it is asked for.
bool can_be_short(DiskCall kind);

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
  /// The same, if that call can fail so; with `all`, each one behind it too that can.
  void fail_if_possible(int number, int error, bool all = false) {
    fail(number, error);
    only_possible_ = true;
    failing_from_then_ = all;
  }
  /// Read or write `number`, and with `all` each one behind it, transfers about half of its bytes.
  void shorten(int number, bool all = false) {
    short_call_ = number;
    short_from_then_ = all;
  }
  /// Calls that only read are counted and fail as others do, from now on.
  void count_reads() { counting_reads_ = true; }
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

  int calls() const { return static_cast<int>(kinds_.size()); }
  const std::vector<DiskCall>& kinds() const { return kinds_; }  ///< of the calls so far
  const DiskLog& log() const { return log_; }
  /// The error that was asked for has occurred.
  bool has_failed() const { return failed_; }
  DiskCall failed_kind() const { return failed_kind_; }  ///< of the last call that failed
  const std::set<DiskCall>& failed_kinds() const { return failed_kinds_; }  ///< of all that did

  // ---- for the functions that stand before the system's
  static FaultyDisk* active();
  bool watches(const std::string& path) const;
  bool watches(int descriptor) const;
  bool counts_reads() const { return counting_reads_; }
  /// Runs `real` unless it is to fail; after a success `note`.
  template <class Real, class Note>
  auto call(DiskCall kind, Real real, Note note) -> decltype(real());
  void opened(int descriptor, const std::string& path, bool created);
  void duplicated(int from, int to) { open_[to] = open_.at(from); }
  void closed(int descriptor) {
    std::lock_guard lock(mutex_);
    open_.erase(descriptor);
  }
  void note(DiskChange change) {
    std::lock_guard lock(mutex_);
    log_.changes.push_back(std::move(change));
  }
  void renamed(const std::string& from, const std::string& to, DiskChange::Kind kind);
  void synced(int descriptor);
  void written(int descriptor, std::int64_t offset, std::string bytes);
  void resized(int descriptor, std::int64_t size);
  std::string relative(const std::string& path) const;
  std::size_t room_for(std::size_t bytes) const;  // of a write
  std::size_t part_of(std::size_t bytes) const { return halved_ ? (bytes + 1) / 2 : bytes; }
  std::string path_in(int folder, const std::string& name) const;  // the whole path

 private:
  struct Open {
    int file;
    std::string folder;  // if it is one
  };
  int file_number(std::uint64_t inode);
  bool is_chosen(DiskCall kind, int of_kind) const;
  int begin(DiskCall kind);
  void finish() const;

  std::string folder_;
  mutable std::recursive_mutex mutex_;
  std::map<int, Open> open_;              // by descriptor
  std::map<std::uint64_t, int> numbers_;  // of files, by inode
  int next_file_ = 0;
  DiskLog log_;
  std::vector<DiskCall> kinds_;
  int failing_call_ = 0, error_ = 0, short_call_ = 0;
  std::optional<DiskCall> failing_kind_;
  DiskCall failed_kind_ = {};
  std::set<DiskCall> failed_kinds_;
  std::map<DiskCall, int> calls_of_kind_;
  bool interrupting_ = false, interrupted_ = false, failed_ = false;
  bool only_possible_ = false, failing_from_then_ = false, short_from_then_ = false,
       halved_ = false;
  std::atomic<bool> counting_reads_ = false;
  std::size_t longest_write_ = SIZE_MAX, room_ = SIZE_MAX;
  std::function<void(int, bool)> watcher_;
};

template <class Real, class Note>
auto FaultyDisk::call(DiskCall kind, Real real, Note note) -> decltype(real()) {
  std::lock_guard lock(mutex_);
  int error = begin(kind);
  decltype(real()) result = -1;
  if (error == 0 || kind == DiskCall::close) {
    result = real();
    int real_error = errno;
    if (result >= 0) note(result);
    errno = real_error;
  }
  if (error != 0) errno = error;
  int shown = errno;
  finish();
  errno = shown;
  return error == 0 ? result : -1;
}

}  // namespace belfry
