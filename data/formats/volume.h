#pragma once
// Volumes: images stacked in depth, as microscopes and scanners write them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "belfry/framework/tensor/array.h"

namespace belfry::data {

struct VolumeOptions {
  std::int64_t voxel_limit = 1 << 28;  ///< depth x height x width
};

/// Decodes a TIFF or BigTIFF stack: [depth, h, w, c] with c = 1 (grey) or 3 (red, green, blue); u8
/// for samples of 8 bits, i32 with 0 to 65535 for 16 bits, f32 for floats of 32 bits. Decoding is
/// OpenCV's, which does not notice damage within compressed pixels of 8 bits. Error naming `name`
/// (and the page, from 0): damaged or cut off data, pages that differ in size, channels or type,
/// other types, palettes, grey where 0 is white, more voxels than the limit. May be called from any
/// thread.
Array decode_volume(std::span<const std::byte> bytes, const VolumeOptions& options = {},
                    std::string_view name = "TIFF stack");

/// Reads and decodes a file. Error: also one that cannot be read.
Array read_volume(const std::string& path, const VolumeOptions& options = {});

}  // namespace belfry::data
