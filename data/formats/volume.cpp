#include "belfry/data/formats/volume.h"

#include <limits>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "belfry/data/formats/image_header.h"
#include "belfry/data/formats/tiff_header.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"

namespace belfry::data {
namespace {

std::string describe(const TiffPage& page) {
  const char* kind = page.samples == TiffSamples::unsigned_integer ? "unsigned"
                     : page.samples == TiffSamples::signed_integer ? "signed"
                     : page.samples == TiffSamples::floating       ? "float"
                                                                   : "other";
  return concat(page.h, " x ", page.w, " pixels of ", page.channels, " ", kind, " samples of ",
                page.bits, " bits, photometric interpretation ", page.photometric);
}

struct Kind {
  DType dtype;
  int stored;  // OpenCV's type of a sample as decoded
  int wanted;  // and in the result
};

Kind kind_of(const TiffPage& page, std::string_view name) {
  constexpr int black_is_zero = 1, rgb = 2;
  bool layout = (page.channels == 1 && page.photometric == black_is_zero)
                || (page.channels == 3 && page.photometric == rgb);
  bool whole = page.samples == TiffSamples::unsigned_integer;
  if (layout && whole && page.bits == 8) return {DType::u8, CV_8U, CV_8U};
  if (layout && whole && page.bits == 16) return {DType::i32, CV_16U, CV_32S};
  if (layout && page.samples == TiffSamples::floating && page.bits == 32)
    return {DType::f32, CV_32F, CV_32F};
  fail(name, ": ", describe(page),
       "; expected grey (1) or RGB (2) of 8 or 16 bits unsigned or 32 "
       "bits float");
}

std::vector<TiffPage> check_pages(std::span<const std::byte> bytes, const VolumeOptions& options,
                                  std::string_view name) {
  std::vector<TiffPage> pages = tiff_pages(bytes, name);
  for (std::size_t i = 1; i < pages.size(); ++i) {
    TiffPage expected = pages[0];
    expected.directory = pages[i].directory;
    require(pages[i] == expected, name, ": page ", i, " has ", describe(pages[i]),
            ", expected as page 0: ", describe(expected));
  }
  auto depth = static_cast<std::int64_t>(pages.size());
  const TiffPage& page = pages[0];
  require(page.h <= options.voxel_limit / page.w / depth, name, ": ", depth, " x ", page.h, " x ",
          page.w, " voxels are more than the limit of ", options.voxel_limit,
          "; raise .voxel_limit if the file is to be trusted");
  // Compression methods of TIFF stay below some 1400 to 1.
  constexpr std::int64_t max_expansion = 2048;
  auto size = static_cast<std::int64_t>(bytes.size());
  require(page.h * page.w * depth / max_expansion <= size, name, ": truncated: ", depth, " x ",
          page.h, " x ", page.w, " voxels cannot be in ", size, " bytes");
  return pages;
}

// In OpenCV's order, blue first. Of the ways into OpenCV only that for files reads other pages than
// the first, so `file` is changed to begin with the one that is wanted.
cv::Mat decode_page(std::vector<std::byte>& file, const TiffPage& page, const std::string& where) {
  put_first(file, page);
  cv::Mat bytes(1, static_cast<int>(file.size()), CV_8U, file.data());
  cv::Mat out;
  try {
    out = cv::imdecode(bytes, cv::IMREAD_UNCHANGED);
  } catch (const cv::Exception& error) {
    fail(where, "damaged TIFF data: ", error.err, " (OpenCV)");
  }
  require(!out.empty(), where, "damaged TIFF data: OpenCV cannot decode them");
  return out;
}

}  // namespace

Array decode_volume(std::span<const std::byte> bytes, const VolumeOptions& options,
                    std::string_view name) {
  const std::vector<TiffPage> pages = check_pages(bytes, options, name);
  const TiffPage& page = pages[0];
  const Kind kind = kind_of(page, name);
  require(bytes.size() <= std::numeric_limits<int>::max(), name, ": ", bytes.size(),
          " bytes, more than OpenCV decodes");
  std::vector<std::byte> file(bytes.begin(), bytes.end());

  Array out({static_cast<std::int64_t>(pages.size()), page.h, page.w, page.channels}, kind.dtype);
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const std::string where = concat(name, ": page ", i, ": ");
    cv::Mat image = decode_page(file, pages[i], where);
    require(image.type() == CV_MAKETYPE(kind.stored, page.channels) && image.rows == page.h
                && image.cols == page.w,
            where, "decodes to ", image.rows, " x ", image.cols, " pixels of ", image.channels(),
            " channels, which is not what its directory says: ", describe(page));
    if (page.channels == 3) {
      cv::Mat rgb;
      cv::cvtColor(image, rgb, cv::COLOR_BGR2RGB);
      image = rgb;
    }
    cv::Mat target(image.rows, image.cols, CV_MAKETYPE(kind.wanted, page.channels),
                   out.row(static_cast<std::int64_t>(i)).raw());
    image.convertTo(target, kind.wanted);
  }
  return out;
}

Array read_volume(const std::string& path, const VolumeOptions& options) {
  std::string content = read_file(path);
  return decode_volume(std::as_bytes(std::span(content)), options, path);
}

}  // namespace belfry::data
