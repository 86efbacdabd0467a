// The functions that only read files and folders, in place of the system's.

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk_calls.h"

namespace {

using belfry::DiskCall;
using belfry::FaultyDisk;
using belfry::next;
using belfry::no_note;

template <class What>
FaultyDisk* reading_disk_of(const What& what) {
  FaultyDisk* disk = belfry::disk_of(what);
  return disk && disk->counts_reads() ? disk : nullptr;
}

template <class Real>
ssize_t read_file(int descriptor, std::size_t size, Real real) {
  FaultyDisk* disk = reading_disk_of(descriptor);
  if (!disk) return real(size);
  return disk->call(
      DiskCall::read, [&] { return real(disk->part_of(size)); }, no_note);
}

template <class What, class Real>
int ask(const What& what, Real real) {
  FaultyDisk* disk = reading_disk_of(what);
  return disk ? disk->call(DiskCall::status, real, no_note) : real();
}

template <class Real, class Note>
DIR* open_folder(FaultyDisk* disk, DiskCall kind, Real real, Note note) {
  DIR* out = nullptr;
  auto open = [&] { return (out = real()) ? 0 : -1; };
  disk->call(kind, open, [&](int) { note(::dirfd(out)); });
  return out;
}

}  // namespace

extern "C" {

ssize_t read(int descriptor, void* into, size_t size) {
  static auto* real = next<ssize_t(int, void*, size_t)>("read");
  return read_file(descriptor, size, [&](size_t part) { return real(descriptor, into, part); });
}

ssize_t pread(int descriptor, void* into, size_t size, off_t offset) {
  static auto* real = next<ssize_t(int, void*, size_t, off_t)>("pread");
  return read_file(descriptor, size,
                   [&](size_t part) { return real(descriptor, into, part, offset); });
}

int stat(const char* path, struct stat* to) noexcept {
  static auto* real = next<int(const char*, struct stat*)>("stat");
  return ask(std::string(path), [&] { return real(path, to); });
}

int lstat(const char* path, struct stat* to) noexcept {
  static auto* real = next<int(const char*, struct stat*)>("lstat");
  return ask(std::string(path), [&] { return real(path, to); });
}

int fstat(int descriptor, struct stat* to) noexcept {
  static auto* real = next<int(int, struct stat*)>("fstat");
  return ask(descriptor, [&] { return real(descriptor, to); });
}

int access(const char* path, int what) noexcept {
  static auto* real = next<int(const char*, int)>("access");
  return ask(std::string(path), [&] { return real(path, what); });
}

DIR* opendir(const char* path) {
  static auto* real = next<DIR*(const char*)>("opendir");
  FaultyDisk* disk = reading_disk_of(std::string(path));
  if (!disk) return real(path);
  return open_folder(
      disk, DiskCall::open_folder, [&] { return real(path); },
      [&](int descriptor) { disk->opened(descriptor, path, false); });
}

DIR* fdopendir(int descriptor) {
  static auto* real = next<DIR*(int)>("fdopendir");
  FaultyDisk* disk = reading_disk_of(descriptor);
  if (!disk) return real(descriptor);
  return open_folder(
      disk, DiskCall::list, [&] { return real(descriptor); }, no_note);
}

dirent* readdir(DIR* folder) {
  static auto* real = next<dirent*(DIR*)>("readdir");
  FaultyDisk* disk = reading_disk_of(::dirfd(folder));
  if (!disk) return real(folder);
  dirent* out = nullptr;
  disk->call(
      DiskCall::list, [&] { return out = real(folder), 0; }, no_note);
  return out;
}

int closedir(DIR* folder) {
  static auto* real = next<int(DIR*)>("closedir");
  if (FaultyDisk* disk = belfry::disk_of(::dirfd(folder))) disk->closed(::dirfd(folder));
  return real(folder);
}

}  // extern "C"
