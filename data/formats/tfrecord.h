#pragma once
// TFRecord, the file format of TensorFlow's data: records of any bytes, each with its checksums.
//
//   u64le length | u32le checksum of the length | length bytes | u32le checksum of the bytes
//
// A checksum is the CRC-32C of the bytes, masked(): see framework/base/crc32c.h.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "belfry/data/formats/byte_reader.h"
#include "belfry/data/formats/byte_writer.h"

namespace belfry::data {

/// The bytes that stand around a record's own in a file.
struct TfRecordFrame {
  std::array<std::byte, 12> before;  ///< the length and its checksum
  std::array<std::byte, 4> after;    ///< the bytes' checksum
};
/// The frame of a record with these bytes.
TfRecordFrame tfrecord_frame(std::span<const std::byte> record);

/// Where a TfRecordReader stands.
struct TfRecordPosition {
  /// The offset of an unreadable rest of a file: nothing tells where its records begin.
  static constexpr std::int64_t lost = std::numeric_limits<std::int64_t>::max();

  std::int64_t offset = 0;  ///< of the next record, in the uncompressed data, in bytes
  std::int64_t record = 0;  ///< its number, from 0; messages name it
  bool operator==(const TfRecordPosition&) const = default;  ///< both are equal
};

/// Reads the records of a file one after the other and checks both checksums. `automatic` reads a
/// file as plain when it begins as a record does, else as gzip or zlib data when it begins as those
/// do. Thread rules: used by one thread at a time.
class TfRecordReader {
 public:
  /// Opens the file at `path`.
  explicit TfRecordReader(const std::string& path,
                          Compression compression = Compression::automatic);
  /// Reads the bytes of such a file, which must outlive the reader; `name` stands for the path.
  TfRecordReader(std::span<const std::byte> bytes, const std::string& name,
                 Compression compression = Compression::automatic);

  const std::string& path() const { return file_.path(); }  ///< for bytes, the name given

  /// Puts the next record into `record`, whose memory is used again, or returns false at the end.
  /// Memory grows with what the file holds, not with what a record claims.
  ///
  /// Error naming file, number and offset of the record. When only its bytes do not agree with
  /// their checksum, the next call goes on after it. When the length is damaged or the file is cut
  /// short, the rest is lost: every further call returns false.
  bool next(std::vector<std::byte>& record);

  /// Passes over the next record, or returns false at the end. Its bytes are not checked, and not
  /// read unless the file is compressed. Error: as of next().
  bool skip();

  /// The place that next() reads from; its offset is `lost` once the rest of the file is.
  TfRecordPosition position() const { return position_; }
  /// Goes to a position saved before, also in another reader of the same file: see
  /// ByteReader::seek(). Error: beyond the end.
  void seek(const TfRecordPosition& position);

 private:
  template <class Body>
  bool with_next(Body body);
  bool read_length(std::uint64_t& length);
  std::uint32_t read_bytes(std::uint64_t length, std::vector<std::byte>& record);
  std::uint32_t finish_record();

  ByteReader file_;
  TfRecordPosition position_;
};

/// Writes records to a file that appears whole at close() or not at all: see ByteWriter, also for
/// errors. Thread rules: used by one thread at a time.
class TfRecordWriter {
 public:
  /// `automatic` is none. The folder must exist.
  explicit TfRecordWriter(const std::string& path, Compression compression = Compression::none)
      : file_(path, compression) {}

  /// Appends a record of these bytes.
  void write(std::span<const std::byte> record);
  void flush() { file_.flush(); }  ///< see ByteWriter::flush()
  void close() { file_.close(); }  ///< see ByteWriter::close()

 private:
  ByteWriter file_;
};

}  // namespace belfry::data
