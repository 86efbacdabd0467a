#include "belfry/data/formats/images/jpeg.h"

// clang-format off
#include <cstdio>
#include <jpeglib.h>  // needs <cstdio> before it
// clang-format on

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "belfry/data/formats/images/image_header.h"
#include "belfry/data/formats/images/library_call.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

struct Callbacks : jpeg_error_mgr {
  jpeg_progress_mgr progress;
  LibraryCall call;
  bool accept_damage;
};

// Each scan of a progressive file passes over the whole image, and needs only some ten bytes.
constexpr int max_scans = 100;

[[noreturn]] void on_error(j_common_ptr info) {
  auto* callbacks = static_cast<Callbacks*>(info->err);
  callbacks->format_message(info, callbacks->call.message.data());
  callbacks->call.leave();
}

void on_message(j_common_ptr info, int level) {
  bool warning = level < 0;
  if (warning && !static_cast<Callbacks*>(info->err)->accept_damage) on_error(info);
}

void on_progress(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= max_scans) return;
  LibraryCall& call = static_cast<Callbacks*>(info->err)->call;
  std::snprintf(call.message.data(), call.message.size(), "more than %d scans", max_scans);
  call.leave();
}

class Decompressor {
 public:
  Decompressor(bool accept_damage, std::string_view name) : name_(name) {
    info_.err = jpeg_std_error(&callbacks_);
    callbacks_.error_exit = on_error;
    callbacks_.emit_message = on_message;
    callbacks_.progress.progress_monitor = on_progress;
    callbacks_.accept_damage = accept_damage;
  }
  ~Decompressor() { jpeg_destroy_decompress(&info_); }
  Decompressor(const Decompressor&) = delete;

  /// Apart from the constructor, so that an Error leaves an object to be destroyed.
  void read_header(std::span<const std::byte> bytes) {
    call([this, bytes] {
      jpeg_create_decompress(&info_);
      info_.progress = &callbacks_.progress;
      jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
      jpeg_read_header(&info_, TRUE);
    });
  }

  jpeg_decompress_struct& info() { return info_; }

  /// Calls `body`, which may call libjpeg: see LibraryCall.
  template <class Body>
  void call(Body body) {
    callbacks_.call.run(body, name_, "libjpeg");
  }

 private:
  jpeg_decompress_struct info_{};  // all zero: may be destroyed although creating it failed
  Callbacks callbacks_{};
  std::string_view name_;
};

struct Span {
  JDIMENSION begin = 0;
  JDIMENSION size = 0;
  JDIMENSION end() const { return begin + size; }
};

struct Decoded {
  int eighths = 8;  // of the full size
  Span rows, columns;
};

Span scaled(std::int64_t begin, std::int64_t size, int eighths) {
  JDIMENSION first = begin * eighths / 8;
  JDIMENSION end = ((begin + size) * eighths + 7) / 8;
  return {first, end - first};
}

Decoded decoded_at(const Rectangle& crop, int eighths) {
  return {eighths, scaled(crop.top, crop.height, eighths), scaled(crop.left, crop.width, eighths)};
}

Decoded choose_decoded(const ImageSize& size, const JpegOptions& o, std::string_view name) {
  check_pixel_limit(size, o.pixel_limit, name);
  Rectangle crop = o.crop.value_or(Rectangle{.height = size.h, .width = size.w});
  require(crop.top >= 0 && crop.left >= 0 && crop.height >= 1 && crop.width >= 1
              && crop.height <= size.h - crop.top && crop.width <= size.w - crop.left,
          name, ": the crop of ", crop.height, " x ", crop.width, " pixels at (", crop.top, ", ",
          crop.left, ") is empty or not within the image of ", size.h, " x ", size.w);
  if (const int* by = std::get_if<int>(&o.shrink)) {
    require(*by == 1 || *by == 2 || *by == 4 || *by == 8, name, ": shrink is ", *by,
            ", expected 1, 2, 4 or 8");
    return decoded_at(crop, 8 / *by);
  }
  return decoded_at(crop, 8 / shrink_for(crop, std::get<AtLeast>(o.shrink)));
}

int channels_of(const jpeg_decompress_struct& info, int wanted, std::string_view name) {
  require(wanted == 0 || wanted == 1 || wanted == 3 || wanted == 4, name, ": channels is ", wanted,
          ", expected 0, 1, 3 or 4");
  return wanted != 0 ? wanted : info.num_components == 1 ? 1 : 3;
}

bool is_cmyk(const jpeg_decompress_struct& info) {
  return info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
}

void choose_output(jpeg_decompress_struct& info, int eighths, int channels) {
  info.scale_num = eighths;
  info.scale_denom = 8;
  info.out_color_space = is_cmyk(info)   ? JCS_CMYK
                         : channels == 1 ? JCS_GRAYSCALE
                         : channels == 3 ? JCS_RGB
                                         : JCS_EXT_RGBA;
}

// Asks for the columns of the plan and, on each side, for as many more as one sample of colour
// covers: smooth upsampling looks at its neighbours. Returns the columns that rows will have.
Span crop_columns(jpeg_decompress_struct& info, const Span& wanted) {
  JDIMENSION margin = info.max_h_samp_factor;
  Span out{wanted.begin - std::min(wanted.begin, margin), 0};
  out.size = std::min(wanted.end() + margin, info.output_width) - out.begin;
  jpeg_crop_scanline(&info, &out.begin, &out.size);
  return out;
}

void store_cmyk(const JSAMPLE* in, JDIMENSION count, bool inverted, int channels, JSAMPLE* out) {
  for (JDIMENSION i = 0; i < count; ++i, in += 4, out += channels) {
    std::array<int, 4> ink;
    for (int c = 0; c < 4; ++c) ink[c] = inverted ? in[c] : 255 - in[c];
    auto light = [&](int c) { return ink[c] * ink[3] / 255; };
    if (channels == 1) {
      out[0] = (299 * light(0) + 587 * light(1) + 114 * light(2) + 500) / 1000;
      continue;
    }
    for (int c = 0; c < 3; ++c) out[c] = light(c);
    if (channels == 4) out[3] = 255;
  }
}

struct Rows {
  Decoded decoded;
  Span columns;      // that a row has
  int channels = 0;  // of the result
  JSAMPLE* row;      // room for one
  JSAMPLE* out;      // the result
};

// Owns nothing: libjpeg may jump out of it.
void read_rows(jpeg_decompress_struct& info, const Rows& r) {
  const std::size_t pitch = std::size_t{r.decoded.columns.size} * r.channels;
  const std::size_t skipped =
      std::size_t{r.decoded.columns.begin - r.columns.begin} * info.output_components;
  const bool direct = pitch == std::size_t{r.columns.size} * info.output_components
                      && info.out_color_space != JCS_CMYK;
  if (r.decoded.rows.begin > 0) jpeg_skip_scanlines(&info, r.decoded.rows.begin);
  JSAMPLE* out = r.out;
  for (JDIMENSION i = 0; i < r.decoded.rows.size; ++i, out += pitch) {
    JSAMPROW row = direct ? out : r.row;
    jpeg_read_scanlines(&info, &row, 1);
    if (info.out_color_space == JCS_CMYK)
      store_cmyk(r.row + skipped, r.decoded.columns.size, info.saw_Adobe_marker, r.channels, out);
    else if (!direct)
      std::memcpy(out, r.row + skipped, pitch);
  }
  // Reads on to the end marker, and so notices when it is not there.
  if (info.output_scanline == info.output_height) jpeg_finish_decompress(&info);
}

}  // namespace

int shrink_for(const Rectangle& crop, const AtLeast& wanted) {
  for (int eighths : {1, 2, 4}) {
    Decoded decoded = decoded_at(crop, eighths);
    if (decoded.rows.size >= wanted.h && decoded.columns.size >= wanted.w) return 8 / eighths;
  }
  return 1;
}

void decode_jpeg(std::span<const std::byte> bytes, const JpegOptions& options, Array& out,
                 std::string_view name) {
  Decompressor decompressor(options.accept_damage, name);
  decompressor.read_header(bytes);
  jpeg_decompress_struct& info = decompressor.info();
  const int channels = channels_of(info, options.channels, name);
  const Decoded decoded =
      choose_decoded({.h = info.image_height, .w = info.image_width}, options, name);
  choose_output(info, decoded.eighths, channels);
  Span columns;
  decompressor.call([&] {
    jpeg_start_decompress(&info);
    columns = crop_columns(info, decoded.columns);
  });
  ensure(decoded.rows.end() <= info.output_height && decoded.columns.end() <= columns.end()
             && columns.begin <= decoded.columns.begin,
         "decode_jpeg: the plan exceeds the image of ", info.output_height, " rows");

  const TensorType type{{decoded.rows.size, decoded.columns.size, channels}, DType::u8};
  if (out.type() != type || !out.exclusive()) out = Array(type);
  std::vector<JSAMPLE> row(std::size_t{columns.size} * info.output_components);
  const Rows rows{.decoded = decoded,
                  .columns = columns,
                  .channels = channels,
                  .row = row.data(),
                  .out = out.span<std::uint8_t>().data()};
  decompressor.call([&] { read_rows(info, rows); });
}

Array decode_jpeg(std::span<const std::byte> bytes, const JpegOptions& options,
                  std::string_view name) {
  Array out;
  decode_jpeg(bytes, options, out, name);
  return out;
}

}  // namespace belfry::data
