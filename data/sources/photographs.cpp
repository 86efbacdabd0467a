#include "belfry/data/augment/definition.h"
#include "belfry/data/augment/normalization.h"
#include "belfry/data/augment/resizing.h"
#include "belfry/data/formats/images/image_header.h"
#include "belfry/data/formats/images/jpeg.h"
#include "belfry/data/sources/media.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

bool is_jpeg(std::span<const std::byte> bytes) {
  return bytes.size() > 2 && bytes[0] == std::byte{0xff} && bytes[1] == std::byte{0xd8};
}

void load(std::span<const std::byte> bytes, const PhotographsOptions& o, PhiloxStream& random,
          float* out) {
  constexpr const char* name = "image";
  const ImageSize size = image_size(bytes, name);
  auto [crop, flip] = draw_resized_crop(size.h, size.w, o.crop, random);
  Array pixels;
  std::int64_t shrink = 1;
  if (is_jpeg(bytes)) {
    int by = shrink_for(crop, {o.size, o.size});
    pixels = decode_jpeg(bytes, {.crop = crop, .shrink = by}, name);
    shrink = by;
    crop.top %= shrink;  // now within the pixels that were decoded
    crop.left %= shrink;
  } else {
    pixels = decode_image(bytes, {}, name);
  }
  std::int64_t h = pixels.shape()[0], w = pixels.shape()[1];
  PixelView view{std::as_const(pixels).span<std::uint8_t>().data(), h, w, 3 * w, shrink};
  resize_crop_into(view, crop, flip, o.mean, o.deviation, out, o.size);
}

void check(const PhotographsOptions& o) {
  check_side("size", o.size);
  check_normalization("", o.mean, o.deviation);
  check_resized_crop(o.crop.scale, o.crop.ratio);
  check_probability(o.crop.flip_probability);
}

}  // namespace

Transform photograph_batches(std::int64_t batch_size, PhotographsOptions options) {
  with_name("photograph_batches", [&] { check(options); });
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
