#include "belfry/framework/base/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <ctime>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/log.h"

namespace belfry {
namespace {

std::string host() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::string now() {
  std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> out{};
  std::strftime(out.data(), out.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return out.data();
}

}  // namespace

LockFile::LockFile(std::string path, const std::string& what, const std::string& remedy)
    : path_(std::move(path)) {
  while (true) {
    file_ = Descriptor(
        retry([&] { return ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666); }));
    require(bool(file_), what, ": cannot lock `", path_, "`: ", reason_and_remedy(errno));
    require(acquire(), what, ": ", owner(), "; ", remedy);
    // Who had it before may have removed the file since it was opened here.
    if (is_at_path()) break;
  }
  write_owner();
}

LockFile::~LockFile() {
  try {
    if (file_ && is_at_path()) ::unlink(path_.c_str());
  } catch (const std::exception&) {
    // It stays, which is in nobody's way.
  }
}

// Whether nobody else has it.
bool LockFile::acquire() {
  if (retry([&] { return ::flock(file_.get(), LOCK_EX | LOCK_NB); }) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  log_warning("`", path_, "` cannot be locked here (", reason_and_remedy(errno),
              "): nothing keeps two processes from writing in its folder");
  return true;
}

// Error: that cannot be told.
bool LockFile::is_at_path() const {
  struct stat own {
  }, there{};
  bool found = ::fstat(file_.get(), &own) == 0 && ::stat(path_.c_str(), &there) == 0;
  require(found || errno == ENOENT, "cannot look at `", path_, "`: ", reason_and_remedy(errno));
  return found && own.st_ino == there.st_ino && own.st_dev == there.st_dev;
}

// Without it, on a full disk, only the message is poorer.
void LockFile::write_owner() const {
  std::string text = concat("process ", ::getpid(), " on host ", host(), ", since ", now(), "\n");
  bool written = retry([&] { return ::ftruncate(file_.get(), 0); }) == 0
                 && retry([&] { return ::pwrite(file_.get(), text.data(), text.size(), 0); }) >= 0;
  if (!written) log_warning("cannot write `", path_, "`: ", reason_and_remedy(errno));
}

std::string LockFile::owner() const {
  std::array<char, 512> text{};
  ssize_t size = ::pread(file_.get(), text.data(), text.size(), 0);
  std::string line(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  line = line.substr(0, line.find('\n'));
  if (line.empty()) return "another process has it";
  bool own = line.starts_with(concat("process ", ::getpid(), " on host ", host(), ","));
  return own ? line + ", which is this process itself" : line;
}

}  // namespace belfry
