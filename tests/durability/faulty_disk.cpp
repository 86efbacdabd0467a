#include "faulty_disk.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
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
  return ::lstat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

bool can_be_interrupted(DiskCall kind) {
  return kind == DiskCall::open || kind == DiskCall::lock || kind == DiskCall::write
         || kind == DiskCall::sync || kind == DiskCall::close || kind == DiskCall::truncate;
}

}  // namespace

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
  return std::min({bytes, longest_write_, room_});
}

/// 0, or the error with which this call fails.
int FaultyDisk::begin(DiskCall kind) {
  ++calls_;
  int of_kind = ++calls_of_kind_[kind];
  if (watcher_) watcher_(calls_, false);
  bool chosen =
      failing_kind_ ? *failing_kind_ == kind && of_kind == failing_call_ : calls_ == failing_call_;
  bool full = kind == DiskCall::write && room_ == 0;
  if (chosen || full) {
    failed_ = true;
    failed_kind_ = kind;
    return full ? ENOSPC : error_;
  }
  if (!interrupting_ || !can_be_interrupted(kind)) return 0;
  if (kind == DiskCall::close) return EINTR;  // it has closed all the same: nobody repeats it
  interrupted_ = !interrupted_;
  return interrupted_ ? EINTR : 0;
}

void FaultyDisk::finish() const {
  if (watcher_) watcher_(calls_, true);
}

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

void FaultyDisk::opened(int descriptor, const std::string& path, bool created) {
  struct stat status {};
  ::fstat(descriptor, &status);
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

// ---- in place of the system's functions

namespace {

using belfry::DiskCall;
using belfry::DiskChange;
using belfry::FaultyDisk;

/// The function of that name that would have been called: a sanitizer's, or the C library's.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

constexpr auto nothing = [](auto) {};

/// The disk, if it watches all of this; else null.
template <class... What>
FaultyDisk* disk_of(const What&... what) {
  FaultyDisk* disk = FaultyDisk::active();
  return disk && (disk->watches(what) && ...) ? disk : nullptr;
}

int open_file(const char* path, int flags, mode_t mode) {
  static auto* real = next<int(const char*, int, ...)>("open");
  FaultyDisk* disk = disk_of(std::string(path));
  if (!disk) return real(path, flags, mode);
  struct stat status {};
  bool was_there = ::lstat(path, &status) == 0;
  return disk->call(
      DiskCall::open, [&] { return real(path, flags, mode); },
      [&](int descriptor) {
        disk->opened(descriptor, path, !was_there);
        if (was_there && (flags & O_TRUNC) != 0) disk->resized(descriptor, 0);
      });
}

template <class Real>
ssize_t write_file(int descriptor, std::string bytes, std::int64_t offset, Real real) {
  FaultyDisk* disk = FaultyDisk::active();
  return disk->call(
      DiskCall::write,
      [&] {
        bytes.resize(disk->room_for(bytes.size()));
        return real(bytes);
      },
      [&](ssize_t written) {
        disk->written(descriptor, offset, bytes.substr(0, static_cast<std::size_t>(written)));
      });
}

std::string copy_of(const void* data, std::size_t size) {
  return {static_cast<const char*>(data), size};
}

/// Nothing here has to survive a failure of the real machine, so nothing waits for its disk.
int sync_descriptor(int descriptor) {
  auto real = [&] { return ::fcntl(descriptor, F_GETFD) >= 0 ? 0 : -1; };
  FaultyDisk* disk = disk_of(descriptor);
  if (!disk) return real();
  return disk->call(DiskCall::sync, real, [&](int) { disk->synced(descriptor); });
}

template <class Real>
int change_name(DiskCall call, DiskChange::Kind kind, const char* path, Real real) {
  FaultyDisk* disk = disk_of(std::string(path));
  if (!disk) return real();
  return disk->call(call, real,
                    [&](int) { disk->note({.kind = kind, .path = disk->relative(path)}); });
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return open_file(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return open_file(path, flags, mode);
}

int fcntl(int descriptor, int command, ...) {
  static auto* real = next<int(int, int, ...)>("fcntl");
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);  // whatever it is: the C library does the same
  va_end(arguments);
  FaultyDisk* disk = disk_of(descriptor);
  if (!disk || (command != F_DUPFD && command != F_DUPFD_CLOEXEC))
    return real(descriptor, command, argument);
  return disk->call(
      DiskCall::duplicate, [&] { return real(descriptor, command, argument); },
      [&](int copy) { disk->duplicated(descriptor, copy); });
}

int flock(int descriptor, int operation) noexcept {
  static auto* real = next<int(int, int)>("flock");
  FaultyDisk* disk = disk_of(descriptor);
  if (!disk) return real(descriptor, operation);
  return disk->call(
      DiskCall::lock, [&] { return real(descriptor, operation); }, nothing);
}

ssize_t write(int descriptor, const void* data, size_t size) {
  static auto* real = next<ssize_t(int, const void*, size_t)>("write");
  if (!disk_of(descriptor)) return real(descriptor, data, size);
  return write_file(descriptor, copy_of(data, size), ::lseek(descriptor, 0, SEEK_CUR),
                    [&](auto& bytes) { return real(descriptor, bytes.data(), bytes.size()); });
}

ssize_t writev(int descriptor, const iovec* parts, int count) {
  static auto* real = next<ssize_t(int, const iovec*, int)>("writev");
  if (!disk_of(descriptor)) return real(descriptor, parts, count);
  std::string all;
  for (int i = 0; i < count; ++i) all += copy_of(parts[i].iov_base, parts[i].iov_len);
  return write_file(descriptor, all, ::lseek(descriptor, 0, SEEK_CUR), [&](auto& bytes) {
    iovec part{bytes.data(), bytes.size()};
    return real(descriptor, &part, 1);
  });
}

ssize_t pwrite(int descriptor, const void* data, size_t size, off_t offset) {
  static auto* real = next<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  if (!disk_of(descriptor)) return real(descriptor, data, size, offset);
  return write_file(descriptor, copy_of(data, size), offset, [&](auto& bytes) {
    return real(descriptor, bytes.data(), bytes.size(), offset);
  });
}

int ftruncate(int descriptor, off_t size) noexcept {
  static auto* real = next<int(int, off_t)>("ftruncate");
  FaultyDisk* disk = disk_of(descriptor);
  if (!disk) return real(descriptor, size);
  return disk->call(
      DiskCall::truncate, [&] { return real(descriptor, size); },
      [&](int) { disk->resized(descriptor, size); });
}

int fsync(int descriptor) { return sync_descriptor(descriptor); }
int fdatasync(int descriptor) { return sync_descriptor(descriptor); }

int close(int descriptor) {
  static auto* real = next<int(int)>("close");
  FaultyDisk* disk = disk_of(descriptor);
  if (!disk) return real(descriptor);
  return disk->call(
      DiskCall::close, [&] { return real(descriptor); }, [&](int) { disk->closed(descriptor); });
}

int rename(const char* from, const char* to) noexcept {
  static auto* real = next<int(const char*, const char*)>("rename");
  FaultyDisk* disk = disk_of(std::string(from), std::string(to));
  if (!disk) return real(from, to);
  return disk->call(
      DiskCall::rename, [&] { return real(from, to); },
      [&](int) { disk->renamed(from, to, DiskChange::Kind::rename); });
}

int link(const char* from, const char* to) noexcept {
  static auto* real = next<int(const char*, const char*)>("link");
  FaultyDisk* disk = disk_of(std::string(from), std::string(to));
  if (!disk) return real(from, to);
  return disk->call(
      DiskCall::link, [&] { return real(from, to); },
      [&](int) { disk->renamed(from, to, DiskChange::Kind::link); });
}

int unlink(const char* path) noexcept {
  static auto* real = next<int(const char*)>("unlink");
  return change_name(DiskCall::unlink, DiskChange::Kind::unlink, path, [&] { return real(path); });
}

int rmdir(const char* path) noexcept {
  static auto* real = next<int(const char*)>("rmdir");
  return change_name(DiskCall::remove_folder, DiskChange::Kind::remove_folder, path,
                     [&] { return real(path); });
}

int remove(const char* path) noexcept {
  struct stat status {};
  return ::lstat(path, &status) == 0 && S_ISDIR(status.st_mode) ? ::rmdir(path) : ::unlink(path);
}

int mkdir(const char* path, mode_t mode) noexcept {
  static auto* real = next<int(const char*, mode_t)>("mkdir");
  return change_name(DiskCall::make_folder, DiskChange::Kind::make_folder, path,
                     [&] { return real(path, mode); });
}

}  // extern "C"
