#pragma once
// BMP files, by a decoder of our own. Internal to data/: see image.h.

#include <cstddef>
#include <span>
#include <string_view>

#include "belfry/data/formats/images/image_header.h"
#include "belfry/framework/tensor/array.h"

namespace belfry::data {

/// Decodes a BMP file of this size, which image_size() said: u8 [h, w, c] with c = 1 where there is
/// a palette that holds only greys, 3 red, green and blue, 4 these and alpha. Headers of OS/2
/// (12 and 64 bytes) and of Windows (40, 52, 56, 108 and 124 bytes); 1, 4 or 8 bits with a palette,
/// as they are or RLE4 and RLE8; 16, 24 or 32 bits, with masks that say where colours are or not.
///
/// - There is alpha only where the header has a mask for it. The fourth byte of other pixels of 32
///   bits says nothing: many writers leave it 0.
/// - Colours of other than 8 bits are scaled as in Pillow: value x 255 / largest, rounded down.
///   Without masks, 16 bits are 5 each of red, green and blue.
/// - Numbers beyond the palette are black; pixels that RLE skips have the palette's first colour.
///
/// Error naming `name`: other kinds; a file 8256 times smaller than its pixels, as RLE could make
/// of almost nothing (decode_image() asks first); data that are cut off, masks that are no runs of
/// bits, RLE that leaves the image.
Array decode_bmp(std::span<const std::byte> bytes, const ImageSize& size, std::string_view name);

}  // namespace belfry::data
