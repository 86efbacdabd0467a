#pragma once
// Reading text ahead. Internal to data/.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/data/formats/byte_reader.h"

namespace belfry::data {

/// The text of a file that has been read and not been used yet.
class TextBuffer {
 public:
  static constexpr std::size_t block_bytes = std::size_t{1} << 18;  ///< are read at once

  TextBuffer(const std::string& path, Compression compression) : file_(path, compression) {}

  const std::string& path() const { return file_.path(); }

  /// The text that begins at byte `offset` of the file, as far as it has been read; what stands
  /// before is forgotten. `offset` lies in or at the end of the text returned last. Valid until the
  /// next call of read_more() or seek().
  std::string_view from(std::int64_t offset);

  /// Reads more of it; false at the end. Error: see ByteReader; only when all that stands before
  /// the damage has been read.
  bool read_more();

  bool at_end() const { return at_end_; }    ///< read_more() has returned false
  bool damaged() const { return damaged_; }  ///< read_more() has thrown

  /// Goes on reading at `offset`, any one in the file.
  void seek(std::int64_t offset);

 private:
  ByteReader file_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // of the text in the buffer
  std::int64_t offset_ = 0;          // of begin_ in the file
  bool at_end_ = false, damaged_ = false;
};

}  // namespace belfry::data
