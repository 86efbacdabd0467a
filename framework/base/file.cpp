#include "belfry/framework/base/file.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "belfry/framework/base/error.h"

namespace belfry {
namespace {

namespace fs = std::filesystem;
using Parts = std::span<const std::span<const std::byte>>;

std::string reason(int error) { return std::generic_category().message(error); }

const char* remedy(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
    case EROFS:
      return "change the permissions or choose another folder";
    case ENOSPC:
    case EDQUOT:
      return "free some space or choose a folder on another disk";
    case EFBIG:
      return "raise the limit on the size of a file (ulimit -f)";
    case EMFILE:
    case ENFILE:
      return "raise the limit on open files (ulimit -n)";
    case ENOENT:
    case ENOTDIR:
      return "check the path; its folder must exist";
    case EISDIR:
      return "the path must name a file, not a folder";
    case ENAMETOOLONG:
      return "choose a shorter name";
    default:
      return "check the disk";
  }
}

/// Calls `system_call` until no signal interrupts it.
template <class Call>
auto retry(Call system_call) {
  auto result = system_call();
  while (result < 0 && errno == EINTR) result = system_call();
  return result;
}

/// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return value_; }
  explicit operator bool() const { return value_ >= 0; }
  int release() { return std::exchange(value_, -1); }
  /// 0, or the error. EINTR counts as closed: Linux releases the descriptor in any case.
  int close() {
    if (value_ < 0) return 0;
    return ::close(std::exchange(value_, -1)) == 0 || errno == EINTR ? 0 : errno;
  }

 private:
  int value_ = -1;
};

std::string folder_of(const std::string& path) {
  std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// A new file beside `target`, removed again unless it is renamed. It is locked while it exists:
/// that is how remove_stale_temporaries tells a living writer from a dead one whose process id may
/// have been used again.
class Temporary {
 public:
  explicit Temporary(const std::string& target) {
    static std::atomic<std::uint64_t> next_number{0};
    fs::path path(target);
    do {
      name_ = path.parent_path()
              / concat(".", path.filename().string(), ".tmp.", ::getpid(), ".", next_number++);
      file_ = Descriptor(retry(
          [&] { return ::open(name_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666); }));
      error_ = file_ ? 0 : errno;
    } while (error_ == EEXIST || (error_ == 0 && !lock()));
  }
  Temporary(const Temporary&) = delete;
  ~Temporary() {
    if (lock_) ::unlink(name_.c_str());
  }

  int error() const { return error_; }  ///< why the file could not be created; 0 when it was

  int write(Parts parts) {
    std::vector<iovec> left;
    left.reserve(parts.size());
    for (auto part : parts)
      if (!part.empty()) left.push_back({const_cast<std::byte*>(part.data()), part.size()});
    for (auto first = left.begin(); first != left.end();) {
      auto count = std::min<std::ptrdiff_t>(left.end() - first, IOV_MAX);
      auto written = retry([&] { return ::writev(file_.get(), &*first, static_cast<int>(count)); });
      if (written < 0) return errno;
      auto bytes = static_cast<std::size_t>(written);
      for (; first != left.end() && bytes >= first->iov_len; ++first) bytes -= first->iov_len;
      if (bytes > 0) {
        first->iov_base = static_cast<std::byte*>(first->iov_base) + bytes;
        first->iov_len -= bytes;
      }
    }
    return 0;
  }

  int sync_and_close() {
    if (retry([&] { return ::fsync(file_.get()); }) != 0) return errno;
    return file_.close();
  }

  int rename_to(const std::string& target) {
    if (::rename(name_.c_str(), target.c_str()) != 0) return errno;
    lock_.close();
    return 0;
  }

 private:
  /// False when somebody took the file for a stale one and removed it before it was locked. The
  /// lock lives in a second descriptor and so outlasts the close that comes before the rename.
  bool lock() {
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

  fs::path name_;
  Descriptor file_;
  Descriptor lock_;
  int error_ = 0;
};

int sync_folder(const std::string& folder) {
  Descriptor opened(
      retry([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!opened) return errno;
  if (retry([&] { return ::fsync(opened.get()); }) == 0) return 0;
  return errno == EINVAL ? 0 : errno;  // some file systems know no sync of folders
}

bool is_number(std::string_view s) {
  return !s.empty() && s.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Whether `name` is one that Temporary gives, `.<target>.tmp.<pid>.<n>`, for this target or, if it
/// is empty, for any.
bool is_temporary_name(std::string_view name, std::string_view target) {
  constexpr std::string_view mark = ".tmp.";
  auto at = name.rfind(mark);
  if (!name.starts_with('.') || at == std::string_view::npos || at == 0) return false;
  if (!target.empty() && name.substr(1, at - 1) != target) return false;
  name.remove_prefix(at + mark.size());
  auto dot = name.find('.');
  return dot != std::string_view::npos && is_number(name.substr(0, dot))
         && is_number(name.substr(dot + 1));
}

/// Removes a temporary whose writer is dead, that is, whose lock nobody holds. Its lock is held
/// until the name is gone, so that a writer that has yet to lock it sees that it lost the file.
bool remove_if_stale(const std::string& path) {
  Descriptor file(
      retry([&] { return ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC); }));
  return file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 && ::unlink(path.c_str()) == 0;
}

}  // namespace

void write_file_atomically(const std::string& path, Parts parts) {
  require(fs::path(path).has_filename(), "cannot write `", path, "`: it names no file");
  auto check = [&](int error) {
    require(error == 0, "cannot write `", path, "`: ", reason(error), "; ", remedy(error));
  };
  Temporary temporary(path);
  check(temporary.error());
  check(temporary.write(parts));
  check(temporary.sync_and_close());
  check(temporary.rename_to(path));
  int error = sync_folder(folder_of(path));
  require(error == 0, "`", path, "` is written, but a power failure may undo it: ",
          "cannot sync its folder: ", reason(error), "; ", remedy(error));
}

void write_file_atomically(const std::string& path, std::span<const std::byte> content) {
  write_file_atomically(path, Parts(&content, 1));
}

void write_file_atomically(const std::string& path, std::string_view content) {
  write_file_atomically(path, std::as_bytes(std::span(content)));
}

std::string read_file(const std::string& path) {
  auto check = [&](bool ok) {
    int error = errno;
    require(ok, "cannot read `", path, "`: ", reason(error), "; ", remedy(error));
  };
  Descriptor file(retry([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  check(static_cast<bool>(file));
  struct stat status {};
  check(::fstat(file.get(), &status) == 0);
  // The size is a hint only: files under /proc have none.
  std::string content(static_cast<std::size_t>(status.st_size) + 1, '\0');
  std::size_t used = 0;
  while (true) {
    if (used == content.size()) content.resize(2 * used);
    auto got =
        retry([&] { return ::read(file.get(), content.data() + used, content.size() - used); });
    check(got >= 0);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  content.resize(used);
  return content;
}

RandomAccessFile::RandomAccessFile(const std::string& path) : path_(path) {
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  Descriptor file(retry([&] { return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); }));
  struct stat status {};
  int error = file && ::fstat(file.get(), &status) == 0 ? 0 : errno;
  require(error == 0, "cannot read `", path, "`: ", reason(error), "; ", remedy(error));
  require(S_ISREG(status.st_mode), "cannot read `", path,
          "`: it is not a regular file; the path must name a file, not a folder or a device");
  size_ = status.st_size;
  descriptor_ = file.release();
}

RandomAccessFile::~RandomAccessFile() { ::close(descriptor_); }

void RandomAccessFile::read(std::int64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    auto got = retry([&] { return ::pread(descriptor_, into.data(), into.size(), offset); });
    int error = errno;
    require(got >= 0, "cannot read `", path_, "` at byte ", offset, ": ", reason(error), "; ",
            remedy(error));
    require(got > 0, "cannot read `", path_, "` at byte ", offset, ": it ends there, ", into.size(),
            " bytes early; was it cut short while it was open?");
    into = into.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
}

int remove_stale_temporaries(const std::string& dir, std::string_view name) {
  int removed = 0;
  std::error_code error;
  for (fs::directory_iterator entry(dir, error), end; !error && entry != end;
       entry.increment(error)) {
    if (is_temporary_name(entry->path().filename().string(), name)
        && remove_if_stale(entry->path().string()))
      ++removed;
  }
  return removed;
}

void probe_writable(const std::string& dir, std::string_view what) {
  require(!dir.empty(), what, ": the folder's name is empty; name a folder to write to");
  auto check = [&](int error) {
    require(error == 0, what, ": cannot write to `", dir, "`: ", reason(error),
            error == ENOSPC || error == EDQUOT ? "; free some space" : "; change its permissions",
            " or choose another ", what);
  };
  std::error_code error;
  fs::create_directories(dir, error);
  check(error.value());
  Temporary probe((fs::path(dir) / "probe").string());
  check(probe.error());
  constexpr std::byte content[]{std::byte{'\n'}};
  std::array<std::span<const std::byte>, 1> parts{content};
  check(probe.write(parts));
  check(probe.sync_and_close());
}

}  // namespace belfry
