#pragma once
// Files of tokens: nothing but their numbers, one behind the other, little-endian, as the train.bin
// of nanoGPT is.

#include <cstdint>
#include <span>
#include <string>

#include "belfry/data/formats/byte_writer.h"
#include "belfry/framework/base/fields.h"

namespace belfry::data {

using belfry::to_string;  // of enumerations

/// How a file holds a token: in 2 bytes, which is enough for vocabularies of up to 65,536, or in 4.
enum class StoredToken : std::uint8_t { u16, i32, u32 };

constexpr auto names_of(StoredToken) { return name_list("u16", "i32", "u32"); }

/// Writes tokens to a file that appears whole at close() or not at all: see ByteWriter, also for
/// errors. Thread rules: used by one thread at a time.
class TokenWriter {
 public:
  /// The folder must exist.
  explicit TokenWriter(const std::string& path, StoredToken stored = StoredToken::u16)
      : file_(path), stored_(stored) {}

  std::int64_t count() const { return count_; }  ///< tokens written so far

  /// Appends `tokens`. Error naming the first that the type cannot hold: none is appended, and the
  /// next call goes on behind those of the calls before.
  void write(std::span<const std::int32_t> tokens);
  void flush() { file_.flush(); }  ///< see ByteWriter::flush()
  void close() { file_.close(); }  ///< see ByteWriter::close()

 private:
  ByteWriter file_;
  StoredToken stored_;
  std::int64_t count_ = 0;
};

}  // namespace belfry::data
