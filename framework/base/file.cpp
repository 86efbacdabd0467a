#include "belfry/framework/base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <system_error>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/folder_names.h"
#include "belfry/framework/base/out_of_memory.h"
#include "belfry/framework/base/temporary_file.h"

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

// Where the process has no room for one more file, nothing is said against this one: who would take
// another in its place has to know.
void check_read(const std::string& path, int error) {
  if (error == 0) return;
  std::string message = concat("cannot read `", path, "`: ", reason_and_remedy(error));
  if (error == EMFILE || error == ENFILE || error == ENOMEM) throw OutOfMemory(message);
  fail(message);
}

int sync_names(const std::string& folder) {
  Descriptor opened(
      retry([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!opened) return errno;
  if (retry([&] { return ::fsync(opened.get()); }) == 0) return 0;
  return errno == EINVAL ? 0 : errno;  // some file systems know no sync of folders
}

int make_folders(const fs::path& dir) {
  std::error_code unreadable;
  if (dir.empty() || fs::is_directory(dir, unreadable)) return 0;
  if (!dir.has_filename()) return make_folders(dir.parent_path());  // it ends with a slash
  if (int failed = make_folders(dir.parent_path())) return failed;
  int error = ::mkdir(dir.c_str(), 0777) == 0 ? 0 : errno;
  if (error != 0 && !fs::is_directory(dir, unreadable)) return error == EEXIST ? ENOTDIR : error;
  return sync_names(dir.has_parent_path() ? dir.parent_path().string() : ".");
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

std::string reason_and_remedy(int error) { return concat(reason(error), "; ", remedy(error)); }

int Descriptor::close() {
  if (value_ < 0) return 0;
  return ::close(std::exchange(value_, -1)) == 0 || errno == EINTR ? 0 : errno;
}

void write_file_atomically(const std::string& path, Parts parts) {
  TemporaryFile temporary(path);
  check_written(path, temporary.error());
  check_written(path, temporary.write(parts));
  temporary.commit();
}

void write_file_atomically(const std::string& path, std::span<const std::byte> content) {
  write_file_atomically(path, Parts(&content, 1));
}

void write_file_atomically(const std::string& path, std::string_view content) {
  write_file_atomically(path, std::as_bytes(std::span(content)));
}

std::string read_file(const std::string& path) {
  auto check = [&](bool ok) { check_read(path, ok ? 0 : errno); };
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
    used += got;
  }
  content.resize(used);
  return content;
}

RandomAccessFile::RandomAccessFile(const std::string& path) : path_(path) {
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  Descriptor file(retry([&] { return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); }));
  struct stat status {};
  int error = file && ::fstat(file.get(), &status) == 0 ? 0 : errno;
  check_read(path, error);
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
    require(got >= 0, "cannot read `", path_, "` at byte ", offset, ": ", reason_and_remedy(error));
    require(got > 0, "cannot read `", path_, "` at byte ", offset, ": it ends there, ", into.size(),
            " bytes early; was it cut short while it was open?");
    into = into.subspan(got);
    offset += got;
  }
}

void sync_folder(const std::string& dir) {
  int error = sync_names(dir);
  require(error == 0, "cannot sync the folder `", dir, "`: ", reason_and_remedy(error));
}

void create_folders(const std::string& dir) {
  int error = make_folders(dir);
  require(error == 0, "cannot create the folder `", dir, "`: ", reason_and_remedy(error));
}

int remove_stale_temporaries(const std::string& dir, std::string_view name) {
  int removed = 0;
  std::error_code error;
  for (const std::string& entry : names_in_folder(dir, error))
    if (is_temporary_name(entry, name) && remove_if_stale(path_in(dir, entry))) ++removed;
  return removed;
}

void probe_writable(const std::string& dir, std::string_view what) {
  require(!dir.empty(), what, ": the folder's name is empty; name a folder to write to");
  auto check = [&](int error) {
    bool full = error == ENOSPC || error == EDQUOT, refused = error == EACCES || error == EPERM;
    require(error == 0, what, ": cannot write to `", dir, "`: ", reason(error),
            full      ? "; free some space or choose another "
            : refused ? "; change its permissions or choose another "
                      : "; choose another ",
            what);
  };
  check(make_folders(dir));
  TemporaryFile probe(path_in(dir, "probe"));
  check(probe.error());
  constexpr std::byte content[]{std::byte{'\n'}};
  std::array<std::span<const std::byte>, 1> parts{content};
  check(probe.write(parts));
  check(probe.sync_and_close());
}

}  // namespace belfry
