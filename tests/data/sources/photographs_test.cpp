#include <cmath>

#include "belfry/data/formats/images/jpeg.h"
#include "belfry/data/sources/media.h"
#include "source_files.h"

namespace belfry::data {
namespace {

using ::testing::HasSubstr;

// A smooth picture: it changes by at most 120 from one side to the other.
Array picture(std::int64_t h, std::int64_t w, int seed) {
  Array out({h, w, 3}, DType::u8);
  auto pixels = out.span<std::uint8_t>();
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    double y = static_cast<double>(static_cast<std::int64_t>(i) / (3 * w)) / static_cast<double>(h);
    double x = static_cast<double>(static_cast<std::int64_t>(i) / 3 % w) / static_cast<double>(w);
    double c = static_cast<double>(i % 3);
    double light = std::sin(2 * x + c + seed) + std::cos(2 * y - c);
    pixels[i] = static_cast<std::uint8_t>(128 + 60 * light);
  }
  return out;
}

// A deviation that leaves pixels as they are: 0 to 255.
constexpr std::array<float, 3> as_bytes{1 / 255.0f, 1 / 255.0f, 1 / 255.0f};

// The same in other words, through map() and batch().
Transform slowly(std::int64_t size, const PhotographsOptions& o) {
  return map(
      [=](Features in, PhiloxStream& random) {
        Array image = decode_image(in.at("image").raw_bytes());
        std::int64_t h = image.shape()[0], w = image.shape()[1];
        ResizedCropParameters drawn = draw_resized_crop(h, w, o.crop, random);
        Array out({size, size, 3}, DType::f32);
        resize_crop_into({image.span<std::uint8_t>().data(), h, w, 3 * w}, drawn.crop, drawn.flip,
                         o.mean, o.deviation, out.span<float>().data(), size);
        return Features{{"image", out}, {"label", in.at("label")}};
      },
      {.seed = o.seed});
}

// The batches of a stream; they share no memory.
std::vector<Features> batches(const Dataset& dataset) {
  InputStreamPtr stream = open(dataset);
  std::vector<Features> out;
  for (Features batch; stream->next(batch); batch = {}) out.push_back(batch);
  return out;
}

double largest_difference(const Array& a, const Array& b) {
  EXPECT_EQ(a.type(), b.type());
  double out = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) out = std::max(out, std::abs(a.at(i) - b.at(i)));
  return out;
}

class Photographs : public ::testing::Test {
 protected:
  // Seven photographs of different sizes in two classes; undecoded.
  Dataset photographs(bool jpeg) const {
    for (int i = 0; i < 7; ++i) {
      Array image = picture(90 + 20 * i, 200 - 17 * i, i);
      files_.write(concat(i % 2 ? "d/a/" : "d/b/", i, jpeg ? ".jpg" : ".png"),
                   jpeg ? encode_jpeg(image) : encode_png(image));
    }
    return image_folder(files_ / "d", {.decode = false});
  }
  SourceFiles files_;
};

TEST_F(Photographs, OfPngAreThoseOfTheSingleSteps) {
  PhotographsOptions options{.size = 24, .workers = 1, .seed = 3};
  Dataset source = photographs(false) | repeat(2);
  auto fast = batches(source | photograph_batches(4, options));
  auto slow = batches(source | slowly(24, options) | batch(4));
  ASSERT_EQ(fast.size(), 4u);
  ASSERT_EQ(slow.size(), 4u);
  EXPECT_EQ(to_string(signature_of(fast[0])), "image f32[4, 24, 24, 3], label i64[4]");
  EXPECT_EQ(to_string(signature_of(fast[3])), "image f32[2, 24, 24, 3], label i64[2]");
  for (std::size_t i = 0; i < fast.size(); ++i) {
    EXPECT_TRUE(identical(fast[i].at("image"), slow[i].at("image"))) << i;
    EXPECT_TRUE(identical(fast[i].at("label"), slow[i].at("label"))) << i;
  }
  EXPECT_EQ(batches(source | photograph_batches(4, {.size = 24, .drop_remainder = true})).size(),
            3u);
}

TEST_F(Photographs, OfJpegAreThoseOfTheSingleStepsUnlessShrunk) {
  // So much of the image is left that it is never decoded at less than the full size.
  PhotographsOptions options{.size = 80, .crop = {.scale = {0.2, 0.5}}, .seed = 3};
  Dataset source = photographs(true);
  auto fast = batches(source | photograph_batches(4, options));
  auto slow = batches(source | slowly(80, options) | batch(4));
  ASSERT_EQ(fast.size(), 2u);
  for (std::size_t i = 0; i < fast.size(); ++i)
    EXPECT_TRUE(identical(fast[i].at("image"), slow[i].at("image"))) << i;
}

TEST_F(Photographs, OfJpegAreAboutThoseOfTheSingleSteps) {
  PhotographsOptions options{.size = 24, .mean = {0, 0, 0}, .deviation = as_bytes};
  Dataset source = photographs(true);
  auto fast = batches(source | photograph_batches(7, options));
  auto slow = batches(source | slowly(24, options) | batch(7));
  ASSERT_EQ(fast.size(), 1u);
  double difference = largest_difference(fast[0].at("image"), slow[0].at("image"));
  EXPECT_GT(difference, 0.01);  // they were decoded at less than the full size
  // At the crop's edges a shrunk pixel counts in part, though all of it was averaged: at most 1/8
  // pixel of the result in each direction, 120 / 24 each; and some noise.
  EXPECT_LT(difference, 2 * 120.0 / 24 / 8 + 2);
}

TEST_F(Photographs, DoNotDependOnWorkers) {
  Dataset source = photographs(true) | shuffle(7) | repeat(3);
  auto reference = batches(source | photograph_batches(4, {.size = 16, .workers = 1}));
  for (int workers : {2, 8}) {
    auto again = batches(source | photograph_batches(4, {.size = 16, .workers = workers})
                         | threads(workers));
    ASSERT_EQ(again.size(), reference.size());
    for (std::size_t i = 0; i < again.size(); ++i) {
      EXPECT_TRUE(identical(again[i].at("image"), reference[i].at("image"))) << i;
      EXPECT_TRUE(identical(again[i].at("label"), reference[i].at("label"))) << i;
    }
  }
}

TEST_F(Photographs, DependOnSeedAndEpoch) {
  Dataset source = photographs(true);
  auto both = batches(source | repeat(2) | photograph_batches(7, {.size = 16}));
  ASSERT_EQ(both.size(), 2u);
  EXPECT_FALSE(identical(both[0].at("image"), both[1].at("image")));
  auto other = batches(source | photograph_batches(7, {.size = 16, .seed = 1}));
  EXPECT_FALSE(identical(both[0].at("image"), other[0].at("image")));
}

TEST_F(Photographs, Resume) {
  // words() cuts to whole numbers.
  PhotographsOptions options{.size = 4, .mean = {0, 0, 0}, .deviation = as_bytes};
  expect_resumes(photographs(true) | shuffle(7) | repeat(2) | photograph_batches(3, options), 60,
                 25, "image");
}

TEST_F(Photographs, ThatAreDamagedCostTheirBatch) {
  photographs(true);
  files_.write("d/a/3.jpg", "\xff\xd8 no JPEG");
  Dataset data = image_folder(files_ / "d", {.decode = false});
  Words got = words(data | photograph_batches(2, {.size = 4}), 1000, "label");
  ASSERT_EQ(got.size(), 4u);
  EXPECT_EQ(got[1], "0,1");
  const std::string name = "(at element 1, epoch 0, of " + (files_ / "d/a/3.jpg") + ")";
  EXPECT_THAT(got[0],
              ::testing::AllOf(::testing::StartsWith("error: image: "), ::testing::EndsWith(name)));
  // Cut off: found by the decoder, not in the header.
  std::vector<std::byte> whole = encode_jpeg(picture(64, 64, 1));
  files_.write("d/a/3.jpg", std::span(whole).first(whole.size() / 2));
  EXPECT_EQ(words(data | photograph_batches(2, {.size = 4}), 1000, "label")[0],
            "error: image: Premature end of JPEG file (libjpeg) " + name);
}

TEST_F(Photographs, MustBeTheBytesOfFiles) {
  photographs(false);
  EXPECT_THAT(
      words(image_folder(files_ / "d") | photograph_batches(7), 1000, "label")[0],
      HasSubstr("expected the bytes of a file, u8 [length]; image_folder() yields them with "
                ".decode = false"));
  Dataset no_label = image_folder(files_ / "d", {.decode = false}) | map([](Features in) {
                       in.set("label", array_of("cat"));
                       return in;
                     });
  EXPECT_THAT(words(no_label | photograph_batches(7), 1000, "label")[0],
              HasSubstr("`label` is u8[3], expected i64[]"));
}

TEST_F(Photographs, RefusesOptionsAtOnce) {
  EXPECT_EQ(error_of([] { photograph_batches(1, {.size = 0}); }),
            "photograph_batches: size must be from 1 to 32766, got 0");
  EXPECT_EQ(error_of([] { photograph_batches(1, {.size = 40'000}); }),
            "photograph_batches: size must be from 1 to 32766, got 40000");
  auto error = [](PhotographsOptions o) { return error_of([&] { photograph_batches(1, o); }); };
  EXPECT_EQ(error({.mean = {0, NAN, 0}}),
            "photograph_batches: mean must be a finite number, got nan");
  EXPECT_EQ(error({.deviation = {1, 0, 1}}),
            "photograph_batches: deviation must be finite and above 0 (at least 1e-6), got 0");
  EXPECT_EQ(error({.deviation = {1, INFINITY, 1}}),
            "photograph_batches: deviation must be finite and above 0 (at least 1e-6), got inf");
  EXPECT_EQ(error({.crop = {.scale = {0, 1}}}),
            "photograph_batches: scale must be above 0 and at most 1, got [0, 1]");
  EXPECT_EQ(error({.crop = {.scale = {0.9, 0.1}}}),
            "photograph_batches: scale must be [low, high] with low at most high, got [0.9, 0.1]");
  EXPECT_EQ(error({.crop = {.flip_probability = 2}}),
            "photograph_batches: probability must be from 0 to 1, got 2");
  EXPECT_THAT(error_of([] { photograph_batches(0); }), HasSubstr("size must be at least 1, got 0"));
}

}  // namespace
}  // namespace belfry::data
