#include "faulty_disk.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace belfry {
namespace {

namespace fs = std::filesystem;
using Kind = DiskChange::Kind;

std::atomic<FaultyDisk*> active_disk = nullptr;

std::uint64_t inode_of(const std::string& path) {
  struct stat status {};
  return ::fstatat(AT_FDCWD, path.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_ino : 0;
}

}  // namespace

bool can_be_interrupted(DiskCall kind) {
  return kind == DiskCall::open || kind == DiskCall::lock || kind == DiskCall::write
         || kind == DiskCall::sync || kind == DiskCall::close || kind == DiskCall::truncate
         || kind == DiskCall::read || kind == DiskCall::open_folder || kind == DiskCall::list
         || kind == DiskCall::open_old;
}

bool can_fail_with(DiskCall kind, int error) {
  bool reads = kind == DiskCall::read || kind == DiskCall::status || kind == DiskCall::open_folder
               || kind == DiskCall::list || kind == DiskCall::open_old;
  bool opens = kind == DiskCall::open || kind == DiskCall::open_old || kind == DiskCall::open_folder
               || kind == DiskCall::duplicate;
  bool frees = kind == DiskCall::unlink || kind == DiskCall::remove_folder;
  if (error == EMFILE) return opens;
  if (error == EINTR) return can_be_interrupted(kind);
  if (error == ENOSPC || error == EDQUOT)
    return !reads && !frees && kind != DiskCall::lock && kind != DiskCall::duplicate;
  return kind != DiskCall::duplicate;
}

bool can_be_short(DiskCall kind) { return kind == DiskCall::read || kind == DiskCall::write; }

FaultyDisk::FaultyDisk(const std::string& folder) : folder_(folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    std::string name = relative(entry.path().string());
    if (entry.is_directory()) {
      log_.names[name] = DiskLog::is_folder;
      continue;
    }
    int file = log_.names[name] = file_number(inode_of(entry.path().string()));
    std::ostringstream content;
    content << std::ifstream(entry.path()).rdbuf();
    log_.contents[file] = content.str();
  }
  active_disk = this;
}

FaultyDisk::~FaultyDisk() { active_disk = nullptr; }

FaultyDisk* FaultyDisk::active() { return active_disk; }

void FaultyDisk::fail(int number, int error, std::optional<DiskCall> kind) {
  failing_call_ = number;
  error_ = error;
  failing_kind_ = kind;
}

bool FaultyDisk::watches(int descriptor) const {
  std::lock_guard lock(mutex_);
  return open_.contains(descriptor);
}

bool FaultyDisk::watches(const std::string& path) const {
  return path == folder_ || path == folder_ + "/" || path.starts_with(folder_ + "/");
}

std::string FaultyDisk::relative(const std::string& path) const {
  std::string out = path.size() > folder_.size() ? path.substr(folder_.size() + 1) : std::string();
  while (out.ends_with('/')) out.pop_back();
  return out;
}

int FaultyDisk::file_number(std::uint64_t inode) {
  return numbers_.try_emplace(inode, next_file_).second ? next_file_++ : numbers_[inode];
}

std::size_t FaultyDisk::room_for(std::size_t bytes) const {
  return std::min({part_of(bytes), longest_write_, room_});
}

std::string FaultyDisk::path_in(int folder, const std::string& name) const {
  std::lock_guard lock(mutex_);
  const std::string& there = open_.at(folder).folder;
  return folder_ + "/" + (there.empty() ? "" : there + "/") + name;
}

bool FaultyDisk::is_chosen(DiskCall kind, int of_kind) const {
  if (only_possible_ && !can_fail_with(kind, error_)) return false;
  if (failing_kind_) return *failing_kind_ == kind && of_kind == failing_call_;
  return calls() == failing_call_
         || (failing_from_then_ && failing_call_ > 0 && calls() > failing_call_);
}

/// 0, or the error with which this call fails.
int FaultyDisk::begin(DiskCall kind) {
  kinds_.push_back(kind);
  int of_kind = ++calls_of_kind_[kind];
  if (watcher_) watcher_(calls(), false);
  halved_ = can_be_short(kind) && short_call_ > 0
            && (short_from_then_ ? calls() >= short_call_ : calls() == short_call_);
  bool full = kind == DiskCall::write && room_ == 0;
  if (is_chosen(kind, of_kind) || full) {
    failed_ = true;
    failed_kind_ = kind;
    failed_kinds_.insert(kind);
    return full ? ENOSPC : error_;
  }
  if (!interrupting_ || !can_be_interrupted(kind)) return 0;
  if (kind == DiskCall::close) return EINTR;  // it has closed all the same: nobody repeats it
  interrupted_ = !interrupted_;
  return interrupted_ ? EINTR : 0;
}

void FaultyDisk::finish() const {
  if (watcher_) watcher_(calls(), true);
}

void FaultyDisk::opened(int descriptor, const std::string& path, bool created) {
  struct stat status {};
  ::fstatat(descriptor, "", &status, AT_EMPTY_PATH);
  if (created) numbers_.erase(status.st_ino);  // of a file that is gone
  bool folder = S_ISDIR(status.st_mode);
  open_[descriptor] = {folder ? DiskLog::is_folder : file_number(status.st_ino),
                       folder ? relative(path) : std::string()};
  if (created) note({.kind = Kind::create, .file = open_[descriptor].file, .path = relative(path)});
}

void FaultyDisk::renamed(const std::string& from, const std::string& to, Kind kind) {
  note({.kind = kind, .path = relative(from), .to = relative(to)});
}

void FaultyDisk::synced(int descriptor) {
  const Open& what = open_.at(descriptor);
  note({.kind = what.file == DiskLog::is_folder ? Kind::sync_folder : Kind::sync,
        .file = what.file,
        .path = what.folder});
}

void FaultyDisk::written(int descriptor, std::int64_t offset, std::string bytes) {
  if (room_ != SIZE_MAX) room_ -= bytes.size();
  note({.kind = Kind::write,
        .file = open_.at(descriptor).file,
        .path = {},
        .offset = offset,
        .bytes = std::move(bytes)});
}

void FaultyDisk::resized(int descriptor, std::int64_t size) {
  note({.kind = Kind::resize, .file = open_.at(descriptor).file, .path = {}, .offset = size});
}

}  // namespace belfry
