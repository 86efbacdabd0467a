#pragma once
// PNG files. Reading and writing are libpng's. Internal to data/: see image.h.

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "belfry/data/formats/images/image_header.h"
#include "belfry/framework/tensor/array.h"

namespace belfry::data {

/// Decodes a PNG file of this size, which image_size() said: [h, w, c] with c = 1 grey, 2 grey and
/// alpha, 3 red, green and blue, 4 these and alpha. u8, or i32 of 16 bits. Grey of fewer than 8
/// bits is scaled to 0 to 255; palettes become colours; a transparent colour (tRNS) becomes alpha,
/// but not one of grey. All other chunks, such as gamma, colour profiles and texts, are skipped.
/// Error naming `name`: data that are damaged or cut off.
Array decode_png(std::span<const std::byte> bytes, const ImageSize& size, std::string_view name);

/// A PNG file of [h, w] or [h, w, 1 | 3 | 4], u8 or i32 with 0 to 65535, which become 16 bits.
std::vector<std::byte> write_png(const Array& image);

}  // namespace belfry::data
