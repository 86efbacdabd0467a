#pragma once
// TIFF files of every kind, written by libtiff, for tests.

#include <tiffio.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "belfry/framework/base/error.h"

namespace belfry::data {

struct TiffPicture {
  std::uint32_t h = 1, w = 1;
  std::uint16_t samples = 1, bits = 8, format = SAMPLEFORMAT_UINT;
  std::uint16_t photometric = PHOTOMETRIC_MINISBLACK, compression = COMPRESSION_NONE;
  std::uint16_t predictor = PREDICTOR_NONE;
  bool separate = false;  ///< a plane for each sample
  bool tiled = false;     ///< tiles of 16 x 16; else strips of 3 rows
  std::uint16_t orientation = 0;
  std::uint16_t alpha = 0;  ///< what the last sample is by EXTRASAMPLES; 0: not stated
  std::vector<std::uint16_t> colours = {};  ///< a palette: 256 each of red, green and blue

  std::uint32_t rows_per_strip() const { return compression == COMPRESSION_JPEG ? 16 : 3; }
};

/// The bytes of one value as this machine has them.
template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

inline std::string sample_bytes(const TiffPicture& p, double value) {
  std::string out;
  if (p.format == SAMPLEFORMAT_IEEEFP)
    append(out, static_cast<float>(value));
  else if (p.bits == 8)
    append(out, static_cast<std::uint8_t>(value));
  else if (p.bits == 16)
    append(out, static_cast<std::uint16_t>(value));
  else
    append(out, static_cast<std::uint32_t>(value));
  return out;
}

inline void set_fields(TIFF* file, const TiffPicture& p) {
  TIFFSetField(file, TIFFTAG_IMAGELENGTH, p.h);
  TIFFSetField(file, TIFFTAG_IMAGEWIDTH, p.w);
  TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, p.samples);
  TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, p.bits);
  TIFFSetField(file, TIFFTAG_SAMPLEFORMAT, p.format);
  TIFFSetField(file, TIFFTAG_PHOTOMETRIC, p.photometric);
  TIFFSetField(file, TIFFTAG_COMPRESSION, p.compression);
  if (p.predictor != PREDICTOR_NONE) TIFFSetField(file, TIFFTAG_PREDICTOR, p.predictor);
  TIFFSetField(file, TIFFTAG_PLANARCONFIG,
               p.separate ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
  if (p.photometric == PHOTOMETRIC_YCBCR)
    TIFFSetField(file, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  if (p.orientation) TIFFSetField(file, TIFFTAG_ORIENTATION, p.orientation);
  if (p.alpha) TIFFSetField(file, TIFFTAG_EXTRASAMPLES, 1, &p.alpha);
  if (!p.colours.empty())
    TIFFSetField(file, TIFFTAG_COLORMAP, p.colours.data(), p.colours.data() + 256,
                 p.colours.data() + 512);
  if (p.tiled) {
    TIFFSetField(file, TIFFTAG_TILEWIDTH, 16);
    TIFFSetField(file, TIFFTAG_TILELENGTH, 16);
  } else {
    TIFFSetField(file, TIFFTAG_ROWSPERSTRIP, p.rows_per_strip());
  }
}

inline void write_pixels(TIFF* file, const TiffPicture& p, const std::vector<double>& values) {
  const std::uint32_t block_h = p.tiled ? 16 : p.rows_per_strip(), block_w = p.tiled ? 16 : p.w;
  std::uint32_t number = 0;
  for (std::uint32_t plane = 0; plane < (p.separate ? p.samples : 1u); ++plane)
    for (std::uint32_t top = 0; top < p.h; top += block_h)
      for (std::uint32_t left = 0; left < p.w; left += block_w) {
        std::string block;
        for (std::uint32_t y = top; y < top + block_h && (p.tiled || y < p.h); ++y)
          for (std::uint32_t x = left; x < left + block_w; ++x)
            for (std::uint32_t s = 0; s < p.samples; ++s) {
              std::size_t at = (std::size_t{y} * p.w + x) * p.samples + s;
              bool inside = y < p.h && x < p.w;
              if (!p.separate || s == plane) block += sample_bytes(p, inside ? values.at(at) : 0);
            }
        auto size = static_cast<tmsize_t>(block.size());
        auto written = p.tiled ? TIFFWriteEncodedTile(file, number, block.data(), size)
                               : TIFFWriteEncodedStrip(file, number, block.data(), size);
        require(written == size, "libtiff wrote ", written, " bytes of ", size);
        ++number;
      }
}

/// Writes a file of pages; `values` holds the samples of each, pixel by pixel. `mode` is libtiff's:
/// "wl" little-endian, "wb" big-endian, "w8" BigTIFF.
inline void write_tiff(const std::string& path, const std::vector<TiffPicture>& pages,
                       const std::vector<std::vector<double>>& values, const char* mode = "wl") {
  TIFF* file = TIFFOpen(path.c_str(), mode);
  require(file != nullptr, "libtiff cannot open ", path);
  for (std::size_t i = 0; i < pages.size(); ++i) {
    set_fields(file, pages[i]);
    write_pixels(file, pages[i], values.at(i));
    require(TIFFWriteDirectory(file), "libtiff cannot write ", path);
  }
  TIFFClose(file);
}

}  // namespace belfry::data
