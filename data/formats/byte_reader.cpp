#include "belfry/data/formats/byte_reader.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/base/out_of_memory.h"

namespace belfry::data {
namespace {

/// The bytes as they are stored: compressed, if they are.
class Stored {
 public:
  explicit Stored(const std::string& path) : name_(path), file_(path), size_(file_->size()) {}
  Stored(std::span<const std::byte> bytes, const std::string& name)
      : name_(name), memory_(bytes), size_(std::ssize(bytes)) {}

  const std::string& name() const { return name_; }
  std::int64_t size() const { return size_; }
  std::int64_t offset() const { return offset_; }
  void seek(std::int64_t offset) { offset_ = offset; }

  std::size_t read(std::span<std::byte> into) {
    std::size_t count = std::min(into.size(), static_cast<std::size_t>(size_ - offset_));
    if (file_) {
      file_->read(offset_, into.first(count));
    } else if (count > 0) {
      std::memcpy(into.data(), memory_.data() + offset_, count);
    }
    offset_ += count;
    return count;
  }

 private:
  std::string name_;
  std::optional<RandomAccessFile> file_;
  std::span<const std::byte> memory_;
  std::int64_t size_;
  std::int64_t offset_ = 0;
};

class Inflater {
 public:
  // The constructor that this one calls has made an object: it is destroyed where this one throws.
  explicit Inflater(Compression compression) : Inflater() {
    int gzip_framing = compression == Compression::gzip ? 16 : 0;
    // A raw stream takes memory for its window with the dictionary. Otherwise inflate() would take
    // it later, and could not go on from where there is none.
    const Bytef nothing = 0;
    const bool begun = inflateInit2(&stream_, -MAX_WBITS) == Z_OK
                       && inflateSetDictionary(&stream_, &nothing, 0) == Z_OK
                       && inflateReset2(&stream_, MAX_WBITS + gzip_framing) == Z_OK;
    if (!begun) throw OutOfMemory("out of host memory: could not begin to decompress");
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;

  void restart(Stored& stored) {
    stored.seek(0);
    inflateReset(&stream_);
    stream_.avail_in = 0;
    between_streams_ = false;
    produced_ = 0;
  }

  /// Fewer bytes than asked for at the end, and before an error, which the next call reports.
  std::size_t read(Stored& stored, std::span<std::byte> into) {
    std::size_t done = 0;
    while (done < into.size()) {
      if (stream_.avail_in == 0) {
        stream_.next_in = reinterpret_cast<Bytef*>(input_.get());
        try {
          stream_.avail_in = stored.read({input_.get(), ByteReader::buffer_bytes});
        } catch (...) {
          if (done == 0) throw;
          break;
        }
        if (stream_.avail_in == 0 && between_streams_) break;
      }
      if (between_streams_ && !skip_padding()) continue;
      uInt room = std::min<std::size_t>(into.size() - done, std::numeric_limits<uInt>::max());
      stream_.next_out = reinterpret_cast<Bytef*>(into.data() + done);
      stream_.avail_out = room;
      int code = inflate(&stream_, Z_NO_FLUSH);
      done += room - stream_.avail_out;
      between_streams_ = code == Z_STREAM_END;
      if (between_streams_) inflateReset(&stream_);
      if (code != Z_OK && code != Z_STREAM_END) {
        if (done == 0) fail_at(stored, code);
        break;
      }
    }
    produced_ += done;
    return done;
  }

 private:
  Inflater() : input_(std::make_unique_for_overwrite<std::byte[]>(ByteReader::buffer_bytes)) {}

  /// Passes zeros, which tapes and disk images leave behind a stream. False when no more is here.
  bool skip_padding() {
    for (; stream_.avail_in > 0 && *stream_.next_in == 0; --stream_.avail_in) ++stream_.next_in;
    return stream_.avail_in > 0;
  }

  [[noreturn]] void fail_at(const Stored& stored, int code) const {
    // There is always room for output, so that no progress means no input.
    require(code != Z_BUF_ERROR, stored.name(),
            ": truncated: the compressed data end early, after ", stored.size(),
            " bytes, which are ", produced_, " bytes uncompressed");
    const char* message = stream_.msg ? stream_.msg : zError(code);
    fail(stored.name(), ": damaged after byte ", produced_, " of the uncompressed data, near byte ",
         stored.offset() - stream_.avail_in, " of the file: ", message);
  }

  z_stream stream_{};
  std::unique_ptr<std::byte[]> input_;
  bool between_streams_ = false;
  std::int64_t produced_ = 0;
};

Compression detect(Stored& stored) {
  std::array<std::byte, 3> head{};
  std::size_t got = stored.read(head);
  stored.seek(0);
  constexpr std::array magic{std::byte{0x1f}, std::byte{0x8b}, std::byte{8}};
  return got == magic.size() && head == magic ? Compression::gzip : Compression::none;
}

}  // namespace

struct ByteReader::Source {
  template <class... Args>
  explicit Source(const Args&... args) : stored(args...) {}

  std::size_t read(std::span<std::byte> into) {
    return inflater ? inflater->read(stored, into) : stored.read(into);
  }

  Stored stored;
  std::optional<Inflater> inflater;
};

ByteReader::ByteReader(const std::string& path, Compression compression)
    : ByteReader(std::make_unique<Source>(path), compression) {}

ByteReader::ByteReader(std::span<const std::byte> bytes, const std::string& name,
                       Compression compression)
    : ByteReader(std::make_unique<Source>(bytes, name), compression) {}

ByteReader::ByteReader(std::unique_ptr<Source> source, Compression compression)
    : source_(std::move(source)),
      compression_(compression == Compression::automatic ? detect(source_->stored) : compression) {
  if (compression_ != Compression::none) source_->inflater.emplace(compression_);
}

ByteReader::~ByteReader() = default;

const std::string& ByteReader::path() const { return source_->stored.name(); }

std::optional<std::int64_t> ByteReader::size() const {
  if (compression_ != Compression::none) return {};
  return source_->stored.size();
}

std::size_t ByteReader::read(std::span<std::byte> into) {
  const std::size_t wanted = into.size();
  while (!into.empty()) {
    std::size_t got = 0;
    if (buffered_.empty() && into.size() >= buffer_bytes) {
      got = source_->read(into);
      offset_ += got;
      if (got == 0) break;
    } else {
      if (buffered_.empty() && !refill()) break;
      got = std::min(into.size(), buffered_.size());
      std::memcpy(into.data(), buffered_.data(), got);
      drop(got);
    }
    into = into.subspan(got);
  }
  return wanted - into.size();
}

std::int64_t ByteReader::skip(std::int64_t count) {
  require(count >= 0, path(), ": cannot skip ", count, " bytes; a negative number");
  const std::int64_t begin = offset_;
  if (auto end = size()) {
    seek(offset_ + std::min(count, *end - offset_));
  } else {
    while (count > 0 && (!buffered_.empty() || refill())) {
      auto part = std::min<std::int64_t>(count, std::ssize(buffered_));
      drop(part);
      count -= part;
    }
  }
  return offset_ - begin;
}

void ByteReader::seek(std::int64_t offset) {
  require(offset >= 0, path(), ": cannot go to byte ", offset, "; a negative offset");
  if (auto end = size()) {
    require(offset <= *end, path(), ": cannot go to byte ", offset, ": it ends at byte ", *end);
    std::int64_t ahead = offset - offset_;
    if (ahead >= 0 && ahead <= std::ssize(buffered_)) {
      drop(ahead);
      return;
    }
    buffered_ = {};
    source_->stored.seek(offset);
    offset_ = offset;
    // Who skips once may do it again: begin small, so that skipping from record to record reads
    // little more than their headers.
    next_refill_ = 4096;
    return;
  }
  if (offset < offset_) {
    source_->inflater->restart(source_->stored);
    buffered_ = {};
    offset_ = 0;
  }
  skip(offset - offset_);
  require(offset_ == offset, path(), ": cannot go to byte ", offset, ": it ends at byte ", offset_);
}

/// Reads more into the empty buffer; false at the end.
bool ByteReader::refill() {
  std::size_t room = buffer_bytes;
  if (auto end = size()) room = std::min(room, static_cast<std::size_t>(*end));
  if (!buffer_) buffer_ = std::make_unique_for_overwrite<std::byte[]>(room);
  std::size_t count = std::min(room, next_refill_);
  next_refill_ = std::min(4 * next_refill_, buffer_bytes);
  buffered_ = {buffer_.get(), source_->read({buffer_.get(), count})};
  return !buffered_.empty();
}

void ByteReader::drop(std::size_t count) {
  buffered_ = buffered_.subspan(count);
  offset_ += count;
}

}  // namespace belfry::data
