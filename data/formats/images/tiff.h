#pragma once
// The pixels of TIFF files. Decoding is libtiff's. Internal to data/: see image.h and volume.h.

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "belfry/data/formats/images/tiff_header.h"
#include "belfry/framework/tensor/array.h"

namespace belfry::data {

/// Reads the pages of a file one after the other. Thread rules: used by one thread at a time.
class TiffReader {
 public:
  /// `bytes` must outlive the reader. Error naming `name`: libtiff cannot read the first directory.
  TiffReader(std::span<const std::byte> bytes, std::string_view name);
  ~TiffReader();

  /// Decodes the next page, which must be `page`, as tiff_pages() found it: [h, w, c] with c = 1
  /// grey, 2 grey and alpha, 3 red, green and blue, 4 these and alpha. Samples of 8 bits are u8, of
  /// 16 bits i32, of 32 bits i64, floats of 32 bits f32. Palettes of 8 bits become colours of 8
  /// bits. Where 0 is white, grey is inverted, so that 0 is black in all that comes out. One sample
  /// beyond the colours is alpha, given as it is stored. Orientation is not applied.
  ///
  /// Strips and tiles, samples together or in planes, stored as they are or compressed by PackBits,
  /// LZW, deflate or JPEG. Error naming `where`: other kinds of pixels; data that are damaged, as
  /// far as the compression tells: deflate's has a checksum, LZW's and PackBits' have none.
  Array next_page(const TiffPage& page, std::string_view where);

 private:
  struct File;
  std::unique_ptr<File> file_;
};

}  // namespace belfry::data
