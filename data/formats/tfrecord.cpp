#include "belfry/data/formats/tfrecord.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "belfry/framework/base/crc32c.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

/// The header that stands before a record's bytes.
struct Header {
  static constexpr std::size_t bytes = 12;
  std::uint64_t length = 0;
  std::uint32_t checksum = 0;  // as stored

  std::uint32_t expected_checksum() const {
    return masked(crc32c(std::as_bytes(std::span(&length, 1))));
  }
};

Header decode(const std::array<std::byte, Header::bytes>& bytes) {
  Header header;
  std::memcpy(&header.length, bytes.data(), sizeof header.length);
  std::memcpy(&header.checksum, bytes.data() + sizeof header.length, sizeof header.checksum);
  return header;
}

/// A record of some 550 kB may begin with the magic number of gzip; compressed data hardly ever
/// begin with a length and its checksum.
Compression detect(ByteReader&& stored) {
  std::array<std::byte, Header::bytes> bytes{};
  bool whole = stored.read(bytes) == bytes.size();
  Header header = decode(bytes);
  if (whole && header.checksum == header.expected_checksum()) return Compression::none;
  // RFC 1950: deflate with a window of 32 KiB; the first two bytes are a multiple of 31.
  auto zlib = std::to_integer<unsigned>(bytes[0]) << 8 | std::to_integer<unsigned>(bytes[1]);
  return zlib >> 8 == 0x78 && zlib % 31 == 0 ? Compression::zlib : Compression::automatic;
}

}  // namespace

TfRecordReader::TfRecordReader(const std::string& path, Compression compression)
    : file_(path, compression == Compression::automatic
                      ? detect(ByteReader(path, Compression::none))
                      : compression) {}

TfRecordReader::TfRecordReader(std::span<const std::byte> bytes, const std::string& name,
                               Compression compression)
    : file_(bytes, name,
            compression == Compression::automatic
                ? detect(ByteReader(bytes, name, Compression::none))
                : compression) {}

bool TfRecordReader::next(std::vector<std::byte>& record) {
  return with_next([&](std::uint64_t length) {
    std::uint32_t computed = masked(read_bytes(length, record));
    std::uint32_t stored = finish_record();
    require(stored == computed, path(), ": the checksum of the record's ", length, " bytes is ",
            computed, ", expected ", stored, ": the file is damaged");
  });
}

bool TfRecordReader::skip() {
  return with_next([&](std::uint64_t length) {
    std::int64_t count = std::min(length, std::uint64_t{1} << 62);
    const bool whole = file_.skip(count) == count;
    require(whole, path(), ": truncated at byte ", file_.offset(), ", inside a record of ", length,
            " bytes");
    finish_record();
  });
}

void TfRecordReader::seek(const TfRecordPosition& position) {
  position_.offset = TfRecordPosition::lost;  // until that succeeds
  if (position.offset != TfRecordPosition::lost) file_.seek(position.offset);
  position_ = position;
}

/// Reads what stands before the next record, and calls body(length), unless the file has ended. The
/// rest of the file is lost if an Error leaves `body` before it has called finish_record().
template <class Body>
bool TfRecordReader::with_next(Body body) {
  if (position_.offset == TfRecordPosition::lost) return false;
  const TfRecordPosition at = position_;
  position_ = {.offset = TfRecordPosition::lost, .record = at.record + 1};
  try {
    std::uint64_t length = 0;
    if (!read_length(length)) {
      position_ = at;
      return false;
    }
    body(length);
    return true;
  } catch (Error& error) {
    error.add_context(concat("in record ", at.record, " at byte ", at.offset));
    throw;
  }
}

/// False at the end of the file.
bool TfRecordReader::read_length(std::uint64_t& length) {
  std::array<std::byte, Header::bytes> bytes{};
  std::size_t got = file_.read(bytes);
  if (got == 0) return false;
  require(got == bytes.size(), path(), ": truncated at byte ", file_.offset(),
          ", inside the length of a record and its checksum");
  Header header = decode(bytes);
  require(header.checksum == header.expected_checksum(), path(),
          ": the checksum of the record's length, ", header.length, ", is ",
          header.expected_checksum(), ", expected ", header.checksum,
          ": the file is damaged, or no TFRecord file");
  length = header.length;
  return true;
}

/// Reads a record's bytes and returns their CRC, computed piece by piece while they are in the
/// cache.
std::uint32_t TfRecordReader::read_bytes(std::uint64_t length, std::vector<std::byte>& record) {
  constexpr std::size_t chunk = ByteReader::buffer_bytes;
  if (auto size = file_.size()) {
    require(length <= static_cast<std::uint64_t>(*size - file_.offset()), path(),
            ": truncated at byte ", *size, ", inside a record of ", length, " bytes");
    record.resize(length);
  } else {
    record.resize(std::min<std::uint64_t>(length, chunk));  // more when there is more
  }
  std::uint32_t crc = 0;
  for (std::size_t have = 0; have < length;) {
    if (have == record.size()) record.resize(std::min<std::uint64_t>(length, 2 * have));
    auto piece = std::span(record).subspan(have, std::min(chunk, record.size() - have));
    std::size_t got = file_.read(piece);
    require(got > 0, path(), ": truncated at byte ", file_.offset(), ", inside a record of ",
            length, " bytes");
    crc = crc32c(piece.first(got), crc);
    have += got;
  }
  return crc;
}

/// The checksum that follows the record's bytes; the next record begins after it.
std::uint32_t TfRecordReader::finish_record() {
  std::uint32_t checksum = 0;
  std::size_t got = file_.read(std::as_writable_bytes(std::span(&checksum, 1)));
  require(got == sizeof checksum, path(), ": truncated at byte ", file_.offset(),
          ", inside the checksum of a record");
  position_.offset = file_.offset();
  return checksum;
}

TfRecordFrame tfrecord_frame(std::span<const std::byte> record) {
  Header header{.length = record.size(), .checksum = 0};
  header.checksum = header.expected_checksum();
  std::uint32_t checksum = masked(crc32c(record));
  TfRecordFrame frame;
  static_assert(sizeof frame.before == Header::bytes && sizeof frame.after == sizeof checksum);
  std::memcpy(frame.before.data(), &header.length, sizeof header.length);
  std::memcpy(frame.before.data() + sizeof header.length, &header.checksum, sizeof header.checksum);
  std::memcpy(frame.after.data(), &checksum, sizeof checksum);
  return frame;
}

void TfRecordWriter::write(std::span<const std::byte> record) {
  TfRecordFrame frame = tfrecord_frame(record);
  file_.write(frame.before);
  file_.write(record);
  file_.write(frame.after);
}

}  // namespace belfry::data
