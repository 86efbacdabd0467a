#include "belfry/data/formats/byte_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>

#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t buffer_bytes = std::size_t{1} << 18;

[[noreturn]] void fail_to_write(const std::string& path, int error) {
  fail("cannot write `", path, "`: ", std::generic_category().message(error),
       "; check the folder, its permissions and the space that is left");
}

/// Calls `system_call` until no signal interrupts it.
template <class Call>
auto retry(Call system_call) {
  auto result = system_call();
  while (result < 0 && errno == EINTR) result = system_call();
  return result;
}

}  // namespace

/// A new file beside `target`, removed again unless it is renamed. It is locked while it exists, so
/// that remove_stale_temporaries() leaves it alone.
class ByteWriter::Temporary {
 public:
  explicit Temporary(const std::string& target) : target_(target) {
    require(fs::path(target).has_filename(), "cannot write `", target, "`: it names no file");
    static std::atomic<std::uint64_t> next_number{0};
    do {
      close_file();
      name_ = fs::path(target).parent_path()
              / concat(".", fs::path(target).filename().string(), ".tmp.", ::getpid(), ".",
                       next_number++);
      file_ = retry(
          [&] { return ::open(name_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666); });
      if (file_ < 0 && errno != EEXIST) fail_to_write(target, errno);
    } while (file_ < 0 || !lock());
  }
  ~Temporary() {
    if (!renamed_) ::unlink(name_.c_str());
    close_file();
  }
  Temporary(const Temporary&) = delete;

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      auto written = retry([&] { return ::write(file_, bytes.data(), bytes.size()); });
      if (written < 0) fail_to_write(target_, errno);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  void rename_to_target() {
    if (retry([&] { return ::fsync(file_); }) != 0) fail_to_write(target_, errno);
    if (::rename(name_.c_str(), target_.c_str()) != 0) fail_to_write(target_, errno);
    renamed_ = true;
    sync_folder();
  }

 private:
  /// False when somebody took the file for a stale one and removed it before it was locked.
  bool lock() {
    retry([&] { return ::flock(file_, LOCK_EX); });
    struct stat status {};
    return ::fstat(file_, &status) != 0 || status.st_nlink > 0;
  }

  void sync_folder() {
    std::string folder = fs::path(target_).parent_path().string();
    int opened =
        retry([&] { return ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC); });
    int error = opened >= 0 && retry([&] { return ::fsync(opened); }) == 0 ? 0 : errno;
    if (opened >= 0) ::close(opened);
    // Some file systems know no sync of folders.
    require(error == 0 || error == EINVAL, "`", target_,
            "` is written, but a power failure may undo it: cannot sync its folder: ",
            std::generic_category().message(error));
  }

  void close_file() {
    if (file_ >= 0) ::close(std::exchange(file_, -1));
  }

  std::string target_;
  fs::path name_;
  int file_ = -1;
  bool renamed_ = false;
};

struct ByteWriter::Deflater {
  explicit Deflater(Compression compression) {
    int gzip_framing = compression == Compression::gzip ? 16 : 0;
    require(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + gzip_framing, 8,
                         Z_DEFAULT_STRATEGY)
                == Z_OK,
            "out of host memory: could not begin to compress");
  }
  ~Deflater() { deflateEnd(&stream); }
  Deflater(const Deflater&) = delete;

  z_stream stream{};
};

ByteWriter::ByteWriter(const std::string& path, Compression compression)
    : path_(path),
      file_(std::make_unique<Temporary>(path)),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(buffer_bytes)) {
  if (compression == Compression::gzip || compression == Compression::zlib)
    deflater_ = std::make_unique<Deflater>(compression);
}

ByteWriter::~ByteWriter() = default;

void ByteWriter::write(std::span<const std::byte> bytes) {
  guarded([&] { deflater_ ? deflate(bytes, Z_NO_FLUSH) : append(bytes); });
}

void ByteWriter::flush() {
  guarded([&] {
    if (deflater_) deflate({}, Z_SYNC_FLUSH);
    write_out();
  });
}

void ByteWriter::close() {
  guarded([&] {
    if (deflater_) deflate({}, Z_FINISH);
    write_out();
    file_->rename_to_target();
    file_.reset();
  });
}

/// Runs `body`, and gives the file up if it fails.
template <class Body>
void ByteWriter::guarded(Body body) {
  require(file_, "cannot write `", path_, "`: it is closed, or an earlier write failed");
  try {
    body();
  } catch (...) {
    file_.reset();
    throw;
  }
}

void ByteWriter::append(std::span<const std::byte> bytes) {
  if (bytes.size() > buffer_bytes - buffered_) write_out();
  if (bytes.size() >= buffer_bytes) {
    file_->write(bytes);
  } else if (!bytes.empty()) {
    std::memcpy(buffer_.get() + buffered_, bytes.data(), bytes.size());
    buffered_ += bytes.size();
  }
}

/// Compresses into the buffer, and writes it out as often as it is full.
void ByteWriter::deflate(std::span<const std::byte> bytes, int mode) {
  z_stream& stream = deflater_->stream;
  do {
    auto part = bytes.first(std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max()));
    bytes = bytes.subspan(part.size());
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(part.data()));
    stream.avail_in = static_cast<uInt>(part.size());
    do {
      if (buffered_ == buffer_bytes) write_out();
      stream.next_out = reinterpret_cast<Bytef*>(buffer_.get() + buffered_);
      stream.avail_out = static_cast<uInt>(buffer_bytes - buffered_);
      int code = ::deflate(&stream, mode);
      ensure(code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR, "deflate gave ", code);
      buffered_ = buffer_bytes - stream.avail_out;
    } while (stream.avail_out == 0);
  } while (!bytes.empty());
}

void ByteWriter::write_out() {
  file_->write({buffer_.get(), buffered_});
  buffered_ = 0;
}

}  // namespace belfry::data
