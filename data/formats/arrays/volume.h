#pragma once
// Volumes: images stacked in depth, as microscopes and scanners write them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "belfry/framework/tensor/array.h"

namespace belfry::data {

/// Options of decode_volume() and read_volume().
struct VolumeOptions {
  /// Depth x height x width; a volume with more is an Error.
  std::int64_t voxel_limit = 1 << 28;
};

/// Decodes a TIFF or BigTIFF stack: [depth, h, w, c] with c = 1 (grey) or 3 (red, green, blue); u8
/// for samples of 8 bits, i32 with 0 to 65535 for 16 bits, i64 with 0 to 2^32 - 1 for 32 bits, f32
/// for floats of 32 bits. Palettes of 8 bits become colours. Alpha is dropped, not blended. Grey
/// where 0 is white is inverted: 0 is black. Orientation is not applied. Strips or tiles, stored as
/// they are or compressed by PackBits, LZW, deflate or JPEG.
///
/// Decoding is libtiff's. Error naming `name` (and the page, from 0): damaged or cut off data (LZW
/// and PackBits have no checksum, so that not all damage shows), pages that differ in size,
/// channels or type, other types, more voxels than the limit. May be called from any thread.
Array decode_volume(std::span<const std::byte> bytes, const VolumeOptions& options = {},
                    std::string_view name = "TIFF stack");

/// Reads and decodes a file. Error: also one that cannot be read.
Array read_volume(const std::string& path, const VolumeOptions& options = {});

}  // namespace belfry::data
