#include "belfry/data/formats/image_header.h"
#include "belfry/data/formats/jpeg.h"
#include "belfry/data/media.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

bool is_jpeg(std::span<const std::byte> bytes) {
  return bytes.size() > 2 && bytes[0] == std::byte{0xff} && bytes[1] == std::byte{0xd8};
}

void load(std::span<const std::byte> bytes, const PhotographsOptions& o, PhiloxStream& random,
          float* out) {
  const ImageSize size = image_size(bytes);
  ResizedCropParameters drawn = draw_resized_crop(size.h, size.w, o.crop, random);
  Rectangle crop = drawn.crop;
  thread_local Array pixels;
  if (is_jpeg(bytes)) {
    decode_jpeg(bytes, {.crop = crop, .shrink = AtLeast{o.size, o.size}}, pixels);
    crop = {0, 0, pixels.shape()[0], pixels.shape()[1]};
  } else {
    pixels = decode_image(bytes);
  }
  std::int64_t h = pixels.shape()[0], w = pixels.shape()[1];
  resize_crop_into({pixels.span<std::uint8_t>().data(), h, w, 3 * w}, crop, drawn.flip, o.mean,
                   o.deviation, out, o.size);
}

}  // namespace

Transform photograph_batches(std::int64_t batch_size, PhotographsOptions options) {
  require(options.size >= 1, "photograph_batches: size must be at least 1, got ", options.size);
  for (float d : options.deviation)
    require(d > 0, "photograph_batches: deviation must be above 0, got ", d);
  PhiloxStream unused(PhiloxKey{});
  draw_resized_crop(1, 1, options.crop, unused);  // says now what is wrong with it
  auto fill = [=](Features in, Features& row, PhiloxStream& random) {
    const Array &image = in.at("image"), &label = in.at("label");
    require(
        image.dtype() == DType::u8 && image.shape().rank() == 1, "`image` is ", image.type(),
        ", expected the bytes of a file, u8 [length]; image_folder() yields them with .decode = "
        "false");
    require(label.type() == TensorType{{}, DType::i64}, "`label` is ", label.type(),
            ", expected i64[]");
    load(image.raw_bytes(), options, random, row.at("image").span<float>().data());
    row.at("label").span<std::int64_t>()[0] = label.span<std::int64_t>()[0];
  };
  Signature row{{"image", {Shape{options.size, options.size, 3}, DType::f32}},
                {"label", {Shape{}, DType::i64}}};
  return map_and_batch(
      RowFunction(fill), row, batch_size,
      {.workers = options.workers, .seed = options.seed, .drop_remainder = options.drop_remainder});
}

}  // namespace belfry::data
