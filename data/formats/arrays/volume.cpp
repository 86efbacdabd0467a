#include "belfry/data/formats/arrays/volume.h"

#include <cstring>
#include <vector>

#include "belfry/data/formats/images/tiff.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"

namespace belfry::data {
namespace {

std::vector<TiffPage> check_pages(std::span<const std::byte> bytes, const VolumeOptions& options,
                                  std::string_view name) {
  std::vector<TiffPage> pages = tiff_pages(bytes, name);
  for (std::size_t i = 1; i < pages.size(); ++i) {
    TiffPage expected = pages[0];
    expected.directory = pages[i].directory;
    require(pages[i] == expected, name, ": page ", i, " has ", describe(pages[i]),
            ", expected as page 0: ", describe(expected));
  }
  std::int64_t depth = pages.size();
  const TiffPage& page = pages[0];
  require(page.h <= options.voxel_limit / page.w / depth, name, ": ", depth, " x ", page.h, " x ",
          page.w, " voxels are more than the limit of ", options.voxel_limit,
          "; raise .voxel_limit if the file is to be trusted");
  // Compression methods of TIFF stay below some 1400 to 1.
  constexpr std::int64_t max_expansion = 2048;
  std::int64_t size = bytes.size();
  require(page.h * page.w * depth / max_expansion * page.channels * page.bits / 8 <= size, name,
          ": truncated: ", depth, " x ", page.h, " x ", page.w, " voxels cannot be in ", size,
          " bytes");
  return pages;
}

// Puts `page`, which may have alpha after its colours, into a row of the volume.
void put_page(const Array& page, Array row) {
  const auto from = page.shape()[2] * size_of(page.dtype());
  const auto to = row.shape()[2] * size_of(page.dtype());
  const std::byte* in = page.raw_bytes().data();
  auto out = row.raw_bytes();
  for (std::size_t at = 0; at < out.size(); at += to, in += from)
    std::memcpy(out.data() + at, in, to);
}

}  // namespace

Array decode_volume(std::span<const std::byte> bytes, const VolumeOptions& options,
                    std::string_view name) {
  const std::vector<TiffPage> pages = check_pages(bytes, options, name);
  TiffReader reader(bytes, name);
  Array out;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    Array page = reader.next_page(pages[i], concat(name, ": page ", i));
    const Shape& shape = page.shape();
    const std::int64_t channels = shape[2] >= 3 ? 3 : 1;
    const TensorType type{{std::ssize(pages), shape[0], shape[1], channels}, page.dtype()};
    if (i == 0) out = Array(type);
    require(out.type() == type, name, ": page ", i, " is ", page.type(), ", expected pages of ",
            out.type());
    put_page(page, out.row(i));
  }
  return out;
}

Array read_volume(const std::string& path, const VolumeOptions& options) {
  std::string content = read_file(path);
  return decode_volume(std::as_bytes(std::span(content)), options, path);
}

}  // namespace belfry::data
