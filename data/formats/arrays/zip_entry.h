#pragma once
// The ZIP records that reading and writing NPZ files share. Internal to data/: see npz.h.
//
// The ZIP format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT. Each entry is a
// local header and data; the central directory at the end names them all, and the end record at the
// very end says where that is. Sizes that do not fit 32 bits are all ones, and found in an extra
// field.

#include <cstdint>
#include <string>
#include <string_view>

namespace belfry::data::zip {

constexpr std::uint32_t local_signature = 0x04034b50, central_signature = 0x02014b50,
                        end_signature = 0x06054b50, end64_signature = 0x06064b50,
                        locator64_signature = 0x07064b50;
constexpr std::uint32_t ones16 = 0xffff, ones32 = 0xffffffff;
constexpr std::string_view suffix = ".npy";  // of the entries' names

struct Entry {
  std::string name;
  std::uint32_t flags = 0, method = 0, checksum = 0;
  std::uint64_t stored_bytes = 0, bytes = 0, offset = 0;  // of the local header
};

}  // namespace belfry::data::zip
