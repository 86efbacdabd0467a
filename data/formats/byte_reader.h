#pragma once
// Reading files from the first byte to the last, compressed or not.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "belfry/framework/base/fields.h"

namespace belfry::data {

using belfry::to_string;  // of enumerations

/// How a file is compressed as a whole. `automatic` is gzip for a file that begins as gzip files do
/// (bytes 1f 8b 08), and none for others; zlib data bear no mark and must be asked for.
enum class Compression : std::uint8_t { automatic, none, gzip, zlib };

constexpr auto names_of(Compression) { return name_list("automatic", "none", "gzip", "zlib"); }

/// The bytes of a regular file, or of memory, decompressed where they are compressed. Offsets count
/// uncompressed bytes. Compressed streams that follow one another are read as one, as gzip's users
/// join files; zeros between and behind them are passed over. Thread rules: used by one thread at a
/// time.
///
/// Errors name the file and the offset: it cannot be opened or read; compressed data that are
/// damaged or cut short. Calls after an Error repeat it.
class ByteReader {
 public:
  /// The bytes read from a plain file at once; reads of this size or more are not copied twice.
  static constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

  /// Opens the file at `path`.
  explicit ByteReader(const std::string& path, Compression compression = Compression::automatic);
  /// Reads `bytes`, which must outlive the reader; `name` stands for the path in messages.
  ByteReader(std::span<const std::byte> bytes, const std::string& name,
             Compression compression = Compression::automatic);
  ~ByteReader();
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;

  const std::string& path() const;                          ///< for memory, the name given
  Compression compression() const { return compression_; }  ///< never `automatic`
  std::int64_t offset() const { return offset_; }           ///< of the next byte

  /// How many bytes there are, as of when the file was opened; none where it is compressed.
  std::optional<std::int64_t> size() const;

  /// Fills `into` from offset() on and returns how many bytes that were: fewer than asked for only
  /// at the end.
  std::size_t read(std::span<std::byte> into);

  /// Passes over `count` bytes, fewer only at the end, and returns how many. Reads nothing unless
  /// the file is compressed. Error: count below 0.
  std::int64_t skip(std::int64_t count);

  /// Goes to `offset`. In compressed data going forward decompresses what lies between, and going
  /// back starts over. Error: below 0, or beyond the end.
  void seek(std::int64_t offset);

 private:
  struct Source;
  ByteReader(std::unique_ptr<Source> source, Compression compression);
  bool refill();
  void drop(std::size_t count);

  std::unique_ptr<Source> source_;
  Compression compression_;
  std::int64_t offset_ = 0;
  std::unique_ptr<std::byte[]> buffer_;
  std::span<const std::byte> buffered_;     // read already, from offset_ on
  std::size_t next_refill_ = buffer_bytes;  // how much to read when that is used up
};

}  // namespace belfry::data
