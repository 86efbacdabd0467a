#pragma once
// Writing files that appear whole or not at all.

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "belfry/data/formats/byte_reader.h"

namespace belfry {
class TemporaryFile;
}

namespace belfry::data {

/// Writes a file piece by piece, compressed or not. Until close() it is a temporary in the same
/// folder, named and locked as those of write_file_atomically() are; without close() it vanishes
/// and what stood at the path stays. Equal bytes in equal pieces give equal files. Thread rules:
/// used by one thread at a time.
///
/// Errors name the path, the system's reason and a remedy. After one the temporary is gone, and
/// every further call is an Error.
class ByteWriter {
 public:
  /// `automatic` is none. The folder must exist.
  explicit ByteWriter(const std::string& path, Compression compression = Compression::none);
  ~ByteWriter();
  ByteWriter(const ByteWriter&) = delete;
  ByteWriter& operator=(const ByteWriter&) = delete;

  const std::string& path() const { return path_; }  ///< as it was given

  /// Appends `bytes`.
  void write(std::span<const std::byte> bytes);
  /// Hands all bytes so far to the system, so that a full disk shows now. Makes compressed files
  /// larger.
  void flush();
  /// Finishes the file, durably, and puts it at the path in place of what was there.
  void close();

 private:
  struct Deflater;
  template <class Body>
  void guarded(Body body);
  void append(std::span<const std::byte> bytes);
  void deflate(std::span<const std::byte> bytes, int mode);
  void write_out();
  void write_out(std::span<const std::byte> bytes);

  std::string path_;
  std::unique_ptr<TemporaryFile> file_;  // none once closed or failed
  std::unique_ptr<Deflater> deflater_;
  std::unique_ptr<std::byte[]> buffer_;
  std::size_t buffered_ = 0;
};

}  // namespace belfry::data
