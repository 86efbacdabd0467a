#include "belfry/data/formats/images/jpeg_writer.h"

// clang-format off
#include <cstdio>
#include <jpeglib.h>  // needs <cstdio> before it
#include <jerror.h>   // needs <jpeglib.h>
// clang-format on

#include <array>
#include <utility>

#include "belfry/data/formats/images/library_call.h"

namespace belfry::data {
namespace {

struct Callbacks : jpeg_error_mgr {
  LibraryCall call;
};

[[noreturn]] void on_error(j_common_ptr info) {
  auto* callbacks = static_cast<Callbacks*>(info->err);
  callbacks->format_message(info, callbacks->call.message.data());
  callbacks->call.leave();
}

void on_message(j_common_ptr, int) {}

// Where libjpeg writes to: into a piece, which joins the file when it is full.
struct Destination : jpeg_destination_mgr {
  std::array<JOCTET, 4096> piece;
  std::vector<std::byte> file;
};

void begin_piece(j_compress_ptr info) {
  auto* to = static_cast<Destination*>(info->dest);
  to->next_output_byte = to->piece.data();
  to->free_in_buffer = to->piece.size();
}

void end_piece(j_compress_ptr info, std::size_t count) {
  auto* to = static_cast<Destination*>(info->dest);
  if (!append_bytes(to->file, to->piece.data(), count)) ERREXIT1(info, JERR_OUT_OF_MEMORY, 0);
}

boolean on_full(j_compress_ptr info) {
  end_piece(info, std::tuple_size_v<decltype(Destination::piece)>);
  begin_piece(info);
  return TRUE;
}

void on_end(j_compress_ptr info) {
  auto* to = static_cast<Destination*>(info->dest);
  end_piece(info, to->piece.size() - to->free_in_buffer);
}

class Compressor {
 public:
  Compressor() {
    info_.err = jpeg_std_error(&callbacks_);
    callbacks_.error_exit = on_error;
    callbacks_.emit_message = on_message;
    destination_.init_destination = begin_piece;
    destination_.empty_output_buffer = on_full;
    destination_.term_destination = on_end;
  }
  ~Compressor() { jpeg_destroy_compress(&info_); }
  Compressor(const Compressor&) = delete;

  std::vector<std::byte> write(const Array& image, int quality) {
    const Shape& shape = image.shape();
    const int channels = shape.rank() == 3 ? static_cast<int>(shape[2]) : 1;
    const JDIMENSION h = shape[0], w = shape[1];
    const JSAMPLE* pixels = image.span<std::uint8_t>().data();
    callbacks_.call.run(
        [=, this] {
          begin(h, w, channels, quality);
          const std::size_t pitch = std::size_t{w} * channels;
          for (std::size_t y = 0; y < h; ++y) {
            auto* row = const_cast<JSAMPROW>(pixels + y * pitch);  // which libjpeg only reads
            jpeg_write_scanlines(&info_, &row, 1);
          }
          jpeg_finish_compress(&info_);
        },
        "encode_jpeg", "libjpeg");
    return std::move(destination_.file);
  }

 private:
  void begin(JDIMENSION h, JDIMENSION w, int channels, int quality) {
    jpeg_create_compress(&info_);
    info_.dest = &destination_;
    info_.image_height = h;
    info_.image_width = w;
    info_.input_components = channels;
    info_.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&info_);
    jpeg_set_quality(&info_, quality, TRUE);
    jpeg_start_compress(&info_, TRUE);
  }

  jpeg_compress_struct info_{};  // all zero: may be destroyed although creating it failed
  Callbacks callbacks_{};
  Destination destination_{};
};

}  // namespace

std::vector<std::byte> write_jpeg(const Array& image, int quality) {
  return Compressor().write(image, quality);
}

}  // namespace belfry::data
