#include "belfry/framework/base/temporary_file.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"

namespace belfry {

namespace fs = std::filesystem;

TemporaryFile::TemporaryFile(const std::string& target) : target_(target) {
  require(fs::path(target).has_filename(), "cannot write `", target, "`: it names no file");
  struct stat there {};
  // The rename would put a file in the place of /dev/null, for all programs of the machine.
  bool special = ::lstat(target.c_str(), &there) == 0 && !S_ISREG(there.st_mode)
                 && !S_ISLNK(there.st_mode) && !S_ISDIR(there.st_mode);
  require(!special, "cannot write `", target,
          "`: a device, a pipe or a socket is there; choose another path");
  static std::atomic<std::uint64_t> next_number{0};
  fs::path path(target);
  do {
    name_ = (path.parent_path()
             / concat(".", path.filename().string(), ".tmp.", ::getpid(), ".", next_number++))
                .string();
    file_ = Descriptor(retry(
        [&] { return ::open(name_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666); }));
    error_ = file_ ? 0 : errno;
  } while (error_ == EEXIST || (error_ == 0 && !lock()));
}

TemporaryFile::~TemporaryFile() {
  if (lock_) ::unlink(name_.c_str());
}

int TemporaryFile::write(std::span<const std::span<const std::byte>> parts) {
  std::vector<iovec> left;
  left.reserve(parts.size());
  for (auto part : parts)
    if (!part.empty()) left.push_back({const_cast<std::byte*>(part.data()), part.size()});
  for (auto first = left.begin(); first != left.end();) {
    auto count = std::min<std::ptrdiff_t>(left.end() - first, IOV_MAX);
    auto written = retry([&] { return ::writev(file_.get(), &*first, count); });
    if (written < 0) return errno;
    std::size_t bytes = written;
    for (; first != left.end() && bytes >= first->iov_len; ++first) bytes -= first->iov_len;
    if (bytes > 0) {
      first->iov_base = static_cast<std::byte*>(first->iov_base) + bytes;
      first->iov_len -= bytes;
    }
  }
  return 0;
}

int TemporaryFile::sync_and_close() {
  if (retry([&] { return ::fsync(file_.get()); }) != 0) return errno;
  return file_.close();
}

void TemporaryFile::commit() {
  check_written(target_, sync_and_close());
  check_written(target_, ::rename(name_.c_str(), target_.c_str()) == 0 ? 0 : errno);
  lock_.close();
  std::string folder = fs::path(target_).parent_path().string();
  try {
    sync_folder(folder.empty() ? "." : folder);
  } catch (const Error& error) {
    fail("`", target_, "` is written, but a power failure may undo it: ", error.what());
  }
}

/// False when somebody took the file for a stale one and removed it before it was locked. The lock
/// lives in a second descriptor and so outlasts the close that comes before the rename.
bool TemporaryFile::lock() {
  lock_ = Descriptor(::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
  if (!lock_) {
    error_ = errno;
    ::unlink(name_.c_str());
    return true;
  }
  // Waits for whoever is removing the file, to see it removed. Where locks are not supported
  // nothing is ever stale.
  retry([&] { return ::flock(lock_.get(), LOCK_EX); });
  struct stat status {};
  return ::fstat(lock_.get(), &status) != 0 || status.st_nlink > 0;
}

void check_written(const std::string& path, int error) {
  require(error == 0, "cannot write `", path, "`: ", reason_and_remedy(error));
}

}  // namespace belfry
