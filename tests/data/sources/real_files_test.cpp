// Sources read real data: see real_data(). Sums were computed by other means, in Python.
#include <cmath>
#include <map>
#include <numeric>

#include "belfry/data/sources/media.h"
#include "source_files.h"

namespace belfry::data {
namespace {

#define SKIP_WITHOUT(path, name)      \
  std::string path = real_data(name); \
  if (path.empty()) GTEST_SKIP() << "no " << (name) << "; set BELFRY_DATA to the folder it is in"

double sum_of(const Array& array) {
  double out = 0;
  for (std::int64_t i = 0; i < array.elements(); ++i) out += array.at(i);
  return out;
}

std::int64_t sum_of_bytes(const Array& array) {
  auto bytes = array.span<std::uint8_t>();
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

TEST(RealFiles, MembranesHaveMasks) {
  SKIP_WITHOUT(path, "membrane");
  Dataset data = image_masks(path + "/image", path + "/label", {.image = {.channels = 1}});
  ASSERT_EQ(data.cardinality(), 30);
  InputStreamPtr stream = open(data);
  Features element;
  std::int64_t first = 0, light = 0, inside = 0, outside = 0;
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(stream->next(element));
    EXPECT_EQ(to_string(signature_of(element)), "image u8[512, 512, 1], mask u8[512, 512, 1]");
    std::int64_t sum = sum_of_bytes(element.at("image"));
    first = i == 0 ? sum : first;
    light += sum;
    for (std::uint8_t m : element.at("mask").span<std::uint8_t>()) {
      inside += m == 255;
      outside += m == 0;
    }
  }
  EXPECT_FALSE(stream->next(element));
  EXPECT_EQ(first, 35'971'420);
  EXPECT_EQ(light, 992'187'925);
  EXPECT_EQ(inside, 6'137'070);
  EXPECT_EQ(inside + outside, 30 * 512 * 512);
}

TEST(RealFiles, SmallPhotographsHaveTenClasses) {
  SKIP_WITHOUT(path, "cifar10-jpeg/train");
  EXPECT_EQ(class_names(path), (Words{"airplane", "automobile", "bird", "cat", "deer", "dog",
                                      "frog", "horse", "ship", "truck"}));
  Dataset data = image_folder(path);
  ASSERT_EQ(data.cardinality(), 1'500);
  InputStreamPtr stream = open(data);
  Features element;
  for (int i = 0; i < 1'500; ++i) {
    ASSERT_TRUE(stream->next(element));
    ASSERT_EQ(to_string(signature_of(element)), "image u8[32, 32, 3], label i64[]");
    ASSERT_EQ(element.at("label").item(), i / 150);
  }
  EXPECT_FALSE(stream->next(element));
}

TEST(RealFiles, SpokenDigits) {
  SKIP_WITHOUT(path, "speech-digits");
  Words paths = list_files(path + "/*.wav");
  ASSERT_EQ(paths.size(), 900u);
  InputStreamPtr stream = open(wav(paths));
  Features element;
  std::int64_t frames = 0;
  double sum = 0;
  for (const std::string& file : paths) {
    ASSERT_TRUE(stream->next(element));
    ASSERT_EQ(text_of(element.at("path")), file);
    ASSERT_EQ(element.at("sample_rate").item(), 8'000);
    ASSERT_EQ(element.at("audio").shape()[1], 1);
    frames += element.at("audio").shape()[0];
    sum += sum_of(element.at("audio"));
  }
  EXPECT_EQ(frames, 3'127'443);
  EXPECT_EQ(sum * 32'768, -102'497'187);
}

TEST(RealFiles, SpokenDigitsInBands) {
  SKIP_WITHOUT(path, "speech-digits");
  LogMelOptions options{
      .sample_rate = 8'000, .mels = 40, .spectrogram = {.frame_length = 200, .frame_step = 80}};
  InputStreamPtr stream = open(wav(list_files(path + "/*.wav"), {.log_mel = options}));
  Features element;
  std::int64_t frames = 0, silent = 0;
  for (int i = 0; i < 900; ++i) {
    ASSERT_TRUE(stream->next(element));
    const Array& bands = element.at("audio");
    ASSERT_EQ(bands.shape(), Shape({bands.shape()[0], 40}));
    frames += bands.shape()[0];
    for (float x : bands.span<float>()) {
      ASSERT_TRUE(std::isfinite(x));
      silent += x < -13.8f;  // ln(1e-6) is -13.8155
    }
  }
  EXPECT_EQ(frames, 37'292);
  EXPECT_LT(silent, frames * 40 / 20);
}

TEST(RealFiles, CensusRecords) {
  SKIP_WITHOUT(path, "adult.csv.gz");
  std::vector<CsvColumn> columns{
      {.name = "age", .type = CsvType::i32, .index = 0},
      {.name = "weight", .type = CsvType::f64, .index = 2},
      {.name = "occupation", .index = 6, .vocabulary = {"?"}, .unknown = 1},
      {.name = "hours", .type = CsvType::i64, .index = 12},
      {.name = "country", .index = 13},
      {.name = "income", .index = 14, .vocabulary = {"<=50K", ">50K"}}};
  Dataset data = csv({path}, columns, {.csv = {.header = false, .skip_initial_space = true}});
  InputStreamPtr stream = open(data);
  Features element;
  std::map<std::string, double> sums;
  std::int64_t rows = 0, letters = 0;
  for (; stream->next(element); ++rows) {
    for (const char* name : {"age", "weight", "occupation", "hours", "income"})
      sums[name] += element.at(name).item();
    letters += element.at("country").elements();
  }
  EXPECT_EQ(to_string(signature_of(element)), "");
  EXPECT_EQ(rows, 32'561);
  EXPECT_EQ(sums["age"], 1'256'257);
  EXPECT_EQ(sums["weight"], 6'179'373'392);
  EXPECT_EQ(sums["occupation"], 32'561 - 1'843);
  EXPECT_EQ(sums["hours"], 1'316'684);
  EXPECT_EQ(sums["income"], 7'841);
  EXPECT_EQ(letters, 400'300);
  EXPECT_EQ(words(data | skip(32'560), 1000, "hours"), Words{"40"});
}

TEST(RealFiles, HandwrittenDigits) {
  SKIP_WITHOUT(path, "mnist");
  Dataset data = idx(path + "/train-images-idx3-ubyte.gz", path + "/train-labels-idx1-ubyte.gz");
  ASSERT_EQ(data.cardinality(), 60'000);
  EXPECT_EQ(words(data, 8, "label"), (Words{"5", "0", "4", "1", "9", "2", "1", "3"}));
  InputStreamPtr stream = open(data);
  Features element;
  std::int64_t ink = 0, labels = 0, last = 0;
  while (stream->next(element)) {
    ASSERT_EQ(element.at("image").shape(), Shape({28, 28}));
    last = sum_of_bytes(element.at("image"));
    ink += last;
    labels += element.at("label").span<std::int64_t>()[0];
  }
  EXPECT_EQ(ink, 1'567'298'545);
  EXPECT_EQ(last, 20'920);
  EXPECT_EQ(labels, 267'236);
}

// image_folder() over the photographs, as one class.
class RealPhotographs : public ::testing::Test {
 protected:
  Dataset photographs(const std::string& path, ImageFilesOptions options) const {
    std::filesystem::create_directory_symlink(std::filesystem::absolute(path),
                                              files_ / concat("class", options.decode));
    std::filesystem::create_directory(files_ / concat("in", options.decode));
    std::filesystem::rename(files_ / concat("class", options.decode),
                            files_ / concat("in", options.decode, "/class"));
    return image_folder(files_ / concat("in", options.decode), options);
  }
  SourceFiles files_;
};

TEST_F(RealPhotographs, AreDecoded) {
  SKIP_WITHOUT(path, "photos");
  InputStreamPtr stream = open(photographs(path, {}));
  Features element;
  std::int64_t height = 0, width = 0, count = 0;
  Shape first;
  for (; stream->next(element); ++count) {
    const Shape shape = element.at("image").shape();
    if (count == 0) first = shape;
    height += shape[0];
    width += shape[1];
  }
  EXPECT_EQ(first, Shape({371, 500, 3}));
  EXPECT_EQ(count, 24);
  EXPECT_EQ(height, 10'256);
  EXPECT_EQ(width, 12'694);
}

TEST_F(RealPhotographs, ComeInBatches) {
  SKIP_WITHOUT(path, "photos");
  PhotographsOptions options{.seed = 5};
  Features fast, slow;
  open(photographs(path, {.decode = false}) | photograph_batches(24, options))->next(fast);
  auto crop = [&](Features in, PhiloxStream& random) {
    const Array& image = in.at("image");
    std::int64_t h = image.shape()[0], w = image.shape()[1];
    ResizedCropParameters drawn = draw_resized_crop(h, w, {}, random);
    Array out({224, 224, 3}, DType::f32);
    resize_crop_into({image.span<std::uint8_t>().data(), h, w, 3 * w}, drawn.crop, drawn.flip,
                     options.mean, options.deviation, out.span<float>().data(), 224);
    return Features{{"image", out}, {"label", in.at("label")}};
  };
  open(photographs(path, {}) | map(crop, {.seed = 5}) | batch(24))->next(slow);
  ASSERT_EQ(to_string(signature_of(fast)), "image f32[24, 224, 224, 3], label i64[24]");
  ASSERT_EQ(signature_of(slow), signature_of(fast));
  auto a = fast.at("image").span<float>(), b = slow.at("image").span<float>();
  double total = 0, correlation = 0, square_a = 0, square_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    total += std::abs(a[i] - b[i]);
    correlation += static_cast<double>(a[i]) * b[i];
    square_a += static_cast<double>(a[i]) * a[i];
    square_b += static_cast<double>(b[i]) * b[i];
  }
  // In deviations: 0.05 is about 3 of 255 steps.
  EXPECT_LT(total / static_cast<double>(a.size()), 0.05);
  EXPECT_GT(correlation / std::sqrt(square_a * square_b), 0.99);
}

}  // namespace
}  // namespace belfry::data
