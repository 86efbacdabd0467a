#pragma once
// The directories of TIFF files, read and checked before a decoder sees them (TIFF revision 6.0,
// sections 2 and 8; BigTIFF too).

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::data {

enum class TiffSamples { unsigned_integer = 1, signed_integer = 2, floating = 3, other = 4 };

/// One image of a TIFF file.
struct TiffPage {
  std::int64_t h = 0;
  std::int64_t w = 0;
  int channels = 1;
  int bits = 1;  ///< a sample
  TiffSamples samples = TiffSamples::unsigned_integer;
  int photometric = -1;  ///< 0 white is 0, 1 black is 0, 2 RGB, 3 palette, ...; -1: not stated
  std::int64_t directory = 0;  ///< byte offset
  bool operator==(const TiffPage&) const = default;
};

/// "2 x 3 pixels of 1 unsigned samples of 8 bits, photometric interpretation 1"
std::string describe(const TiffPage& page);

bool is_tiff(std::span<const std::byte> bytes);

/// The first `limit` pages. Error naming `name` and the byte offset: no TIFF data, no pages,
/// directories or pixels that reach beyond the end, pages without size, directories that form a
/// circle, samples of different widths in one page. The pixels themselves may still be damaged.
std::vector<TiffPage> tiff_pages(std::span<const std::byte> bytes, std::string_view name,
                                 std::size_t limit = std::numeric_limits<std::size_t>::max());

}  // namespace belfry::data
