#pragma once
// Writing JPEG files, which is libjpeg-turbo's. Internal to data/: see image.h.

#include <cstddef>
#include <vector>

#include "belfry/framework/tensor/array.h"

namespace belfry::data {

/// A JPEG file of u8 [h, w] or [h, w, 1 | 3], of this quality, with colour at half resolution
/// (4:2:0). Error with what libjpeg says: more than 65500 pixels a side.
std::vector<std::byte> write_jpeg(const Array& image, int quality);

}  // namespace belfry::data
