#include "belfry/data/formats/byte_writer.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/out_of_memory.h"
#include "belfry/framework/base/temporary_file.h"

namespace belfry::data {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 18;

}  // namespace

struct ByteWriter::Deflater {
  explicit Deflater(Compression compression) {
    int gzip_framing = compression == Compression::gzip ? 16 : 0;
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + gzip_framing, 8,
                     Z_DEFAULT_STRATEGY)
        != Z_OK)
      throw OutOfMemory("out of host memory: could not begin to compress");
  }
  ~Deflater() { deflateEnd(&stream); }
  Deflater(const Deflater&) = delete;

  z_stream stream{};
};

ByteWriter::ByteWriter(const std::string& path, Compression compression)
    : path_(path),
      file_(std::make_unique<TemporaryFile>(path)),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(buffer_bytes)) {
  check_written(path, file_->error());
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
    file_->commit();
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
    write_out(bytes);
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
    stream.avail_in = part.size();
    do {
      if (buffered_ == buffer_bytes) write_out();
      stream.next_out = reinterpret_cast<Bytef*>(buffer_.get() + buffered_);
      stream.avail_out = buffer_bytes - buffered_;
      int code = ::deflate(&stream, mode);
      ensure(code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR, "deflate gave ", code);
      buffered_ = buffer_bytes - stream.avail_out;
    } while (stream.avail_out == 0);
  } while (!bytes.empty());
}

void ByteWriter::write_out() {
  write_out({buffer_.get(), buffered_});
  buffered_ = 0;
}

void ByteWriter::write_out(std::span<const std::byte> bytes) {
  check_written(path_, file_->write({&bytes, 1}));
}

}  // namespace belfry::data
