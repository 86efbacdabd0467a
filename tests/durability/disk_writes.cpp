// The functions that change files, in place of the system's.

#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "disk_calls.h"

namespace {

using belfry::disk_of;
using belfry::DiskCall;
using belfry::DiskChange;
using belfry::FaultyDisk;
using belfry::next;
using belfry::no_note;

int open_file(const char* path, int flags, mode_t mode) {
  static auto* real = next<int(const char*, int, ...)>("open");
  FaultyDisk* disk = disk_of(std::string(path));
  if (!disk) return real(path, flags, mode);
  struct stat status {};
  bool was_there = ::fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0;
  bool old = disk->counts_reads() && (flags & O_CREAT) == 0;
  return disk->call(
      old ? DiskCall::open_old : DiskCall::open, [&] { return real(path, flags, mode); },
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

/// These files need not survive a power failure, save the ones that tests imagine, so nothing waits
/// for the disk.
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

int openat(int folder, const char* path, int flags, ...) {
  static auto* real = next<int(int, const char*, int, ...)>("openat");
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (path[0] == '/' || folder == AT_FDCWD) return open_file(path, flags, mode);
  FaultyDisk* disk = disk_of(folder);
  return disk ? open_file(disk->path_in(folder, path).c_str(), flags, mode)
              : real(folder, path, flags, mode);
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
      DiskCall::lock, [&] { return real(descriptor, operation); }, no_note);
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
  return ::fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode)
             ? ::rmdir(path)
             : ::unlink(path);
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  static auto* real = next<int(int, const char*, int)>("unlinkat");
  FaultyDisk* disk = path[0] == '/' || folder == AT_FDCWD ? nullptr : disk_of(folder);
  if (!disk) return real(folder, path, flags);
  std::string whole = disk->path_in(folder, path);
  return (flags & AT_REMOVEDIR) != 0 ? ::rmdir(whole.c_str()) : ::unlink(whole.c_str());
}

int mkdir(const char* path, mode_t mode) noexcept {
  static auto* real = next<int(const char*, mode_t)>("mkdir");
  return change_name(DiskCall::make_folder, DiskChange::Kind::make_folder, path,
                     [&] { return real(path, mode); });
}

}  // extern "C"
