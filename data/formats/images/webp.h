#pragma once
// WebP files. Decoding is libwebp's. Internal to data/: see image.h.

#include <cstddef>
#include <span>
#include <string_view>

#include "belfry/data/formats/images/image_header.h"
#include "belfry/framework/tensor/array.h"

namespace belfry::data {

/// Decodes a WebP file of this size, which image_size() said: u8 [h, w, 3], or [h, w, 4] where its
/// header speaks of alpha. Error naming `name`: data that are damaged or cut off, an animation.
Array decode_webp(std::span<const std::byte> bytes, const ImageSize& size, std::string_view name);

}  // namespace belfry::data
