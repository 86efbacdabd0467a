#include "belfry/data/formats/images/webp.h"

#include <errno.h>
#include <webp/decode.h>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/out_of_memory.h"

namespace belfry::data {
namespace {

const char* describe(VP8StatusCode status) {
  const bool early = status == VP8_STATUS_SUSPENDED || status == VP8_STATUS_NOT_ENOUGH_DATA;
  return early ? "the data end too early" : "bytes that cannot be read";
}

// errno was 0 before the call: what libwebp found no memory for may come as damage.
void check(VP8StatusCode status, std::string_view name) {
  if (status == VP8_STATUS_OK) return;
  const bool no_memory = status == VP8_STATUS_OUT_OF_MEMORY || errno == ENOMEM;
  if (no_memory) throw OutOfMemory(concat(name, ": out of host memory (libwebp)"));
  fail(name, ": damaged WebP data: ", describe(status), " (libwebp)");
}

}  // namespace

Array decode_webp(std::span<const std::byte> bytes, const ImageSize& size, std::string_view name) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  WebPDecoderConfig config;
  ensure(WebPInitDecoderConfig(&config), "decode_webp: libwebp is not the one of its header");
  errno = 0;
  check(WebPGetFeatures(data, bytes.size(), &config.input), name);
  require(!config.input.has_animation, name, ": WebP data of an animation, expected one image");
  ensure(config.input.height == size.h && config.input.width == size.w,
         "decode_webp: libwebp sees another size than ", size.h, " x ", size.w);

  const int channels = config.input.has_alpha ? 4 : 3;
  Array out({size.h, size.w, channels}, DType::u8);
  config.output.colorspace = channels == 4 ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {.rgba = out.span<std::uint8_t>().data(),
                          .stride = config.input.width * channels,
                          .size = static_cast<std::size_t>(out.bytes())};
  errno = 0;
  const VP8StatusCode status = WebPDecode(data, bytes.size(), &config);
  WebPFreeDecBuffer(&config.output);
  check(status, name);
  return out;
}

}  // namespace belfry::data
