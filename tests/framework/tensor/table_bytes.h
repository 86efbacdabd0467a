#pragma once
// Tables of LevelDB around a block of any bytes, with checksums that are right.

#include <cstdint>
#include <string>
#include <utility>

#include "belfry/framework/base/crc32c.h"

namespace belfry {

inline std::string varint_bytes(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}

inline std::string u32_bytes(std::uint32_t value) {
  std::string out;
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift & 0xff);
  return out;
}

/// With the trailer.
inline std::string stored_block(std::string block, char compression = 0) {
  block += compression;
  return block + u32_bytes(masked(crc32c(std::as_bytes(std::span(std::as_const(block))))));
}

/// Entries, the only restart at their beginning.
inline std::string block_of(const std::string& entries) {
  return entries + u32_bytes(0) + u32_bytes(1);
}

/// A table whose index has one entry, the handle given.
inline std::string table_with_handle(std::string file, const std::string& handle) {
  const std::string more = block_of("");
  const std::string index =
      block_of(varint_bytes(0) + varint_bytes(1) + varint_bytes(handle.size()) + "~" + handle);
  std::string footer = varint_bytes(file.size()) + varint_bytes(more.size());
  file += stored_block(more);
  footer += varint_bytes(file.size()) + varint_bytes(index.size());
  file += stored_block(index);
  footer.resize(40);
  return file + footer + "\x57\xfb\x80\x8b\x24\x75\x47\xdb";
}

/// A table with this as its only block of entries.
inline std::string table_around(const std::string& block, char compression = 0) {
  return table_with_handle(stored_block(block, compression),
                           varint_bytes(0) + varint_bytes(block.size()));
}

}  // namespace belfry
