// Covers idx.cpp and mnist.cpp.
#include "belfry/data/formats/arrays/idx.h"

#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "../../../framework/base/temporary_folder.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

using Bytes = std::string;

Bytes big_endian(std::uint32_t x) {
  Bytes out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(x >> shift & 0xff);
  return out;
}

Bytes header(const std::vector<std::uint32_t>& sizes, std::uint32_t type = 8) {
  Bytes out = big_endian(type << 8 | static_cast<std::uint32_t>(sizes.size()));
  for (std::uint32_t size : sizes) out += big_endian(size);
  return out;
}

class Idx : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return directory_ / name; }
  std::string write(const Bytes& bytes, const std::string& name = "file") const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::string write_gzip(const Bytes& bytes, const std::string& name = "file.gz") const {
    gzFile file = gzopen(path(name).c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    return path(name);
  }
  // The error, less the path in front of it.
  std::string error_reading(const Bytes& bytes) const {
    std::string file = write(bytes);
    std::string error = error_of([&] { read_idx(file); });
    EXPECT_TRUE(error.starts_with(file + ": ")) << error;
    return error.substr(std::min(error.size(), file.size() + 2));
  }
  // Files of MNIST's names with `images` and `labels` inside.
  std::string error_of_mnist(const Bytes& images, const Bytes& labels) const {
    write(images, "train-images-idx3-ubyte");
    write(labels, "train-labels-idx1-ubyte");
    return error_of([&] { mnist(directory_.path(), Split::train); });
  }

  TemporaryFolder directory_;
};

TEST_F(Idx, ReadsPlainAndGzippedFiles) {
  Bytes bytes = header({2, 3}) + Bytes("\x00\x01\x02\xff\x04\x05", 6);
  Array expected = Array::of<std::uint8_t>({0, 1, 2, 255, 4, 5}, {2, 3});
  EXPECT_TRUE(identical(read_idx(write(bytes)), expected));
  EXPECT_TRUE(identical(read_idx(write_gzip(bytes)), expected));
  EXPECT_EQ(read_idx(write(header({0, 28, 28}))).shape(), Shape({0, 28, 28}));
}

TEST_F(Idx, ReadsAllTypes) {
  auto parse = [&](std::uint32_t type, const Bytes& elements) {
    return read_idx(write_gzip(header({2}, type) + elements));
  };
  EXPECT_TRUE(identical(parse(9, "\x7f\x80"), Array::of<std::int32_t>({127, -128})));
  EXPECT_TRUE(identical(parse(11, "\x12\x34\xff\xfe"), Array::of<std::int32_t>({0x1234, -2})));
  EXPECT_TRUE(identical(parse(12, big_endian(0x12345678) + big_endian(0xfffffffe)),
                        Array::of<std::int32_t>({0x12345678, -2})));
  EXPECT_TRUE(identical(parse(13, big_endian(0x3fc00000) + big_endian(0xc2f60000)),
                        Array::of<float>({1.5f, -123})));
  EXPECT_TRUE(identical(
      parse(14, big_endian(0x3ff80000) + big_endian(0) + big_endian(0xc05ec000) + big_endian(0)),
      Array::of<double>({1.5, -123})));
  EXPECT_EQ(read_idx(write(header({0, 3}, 11))).type(), (TensorType{{0, 3}, DType::i32}));
  EXPECT_EQ(error_reading(header({2}, 14) + Bytes(15, 'x')),
            "truncated at byte 23: the header promises [2], which is 16 bytes after byte 8");
  EXPECT_EQ(error_reading(header({2}, 11) + Bytes(5, 'x')),
            "bytes follow after byte 12, where [2] "
            "ends");
}

TEST_F(Idx, SaysAtWhichByteAFileIsWrong) {
  EXPECT_EQ(error_reading(""), "truncated at byte 0, inside the magic number at byte 0");
  EXPECT_EQ(error_reading(Bytes("\0\0\10", 3)),
            "truncated at byte 3, inside the magic number at byte 0");
  EXPECT_EQ(error_reading("PNG!" + Bytes(20, 'x')),
            "not an IDX file: the bytes at 0 and 1 are 80 and 78, expected 0 and 0");
  for (std::uint32_t type : {0u, 7u, 10u, 15u})
    EXPECT_EQ(error_reading(header({2}, type)),
              concat("the element type at byte 2 is ", type,
                     ", expected 8 (u8), 9 (i8), 11 (i16), 12 (i32), 13 (f32) or 14 (f64)"));
  EXPECT_EQ(error_reading(big_endian(0x800)), "the rank at byte 3 is 0, expected 1 to 8");
  EXPECT_EQ(error_reading(big_endian(0x8ff)), "the rank at byte 3 is 255, expected 1 to 8");
  EXPECT_EQ(error_reading(header({2, 3}).substr(0, 10)),
            "truncated at byte 10, inside the size of an axis at byte 8");
  EXPECT_EQ(error_reading(header({2, 3}) + "12345"),
            "truncated at byte 17: the header promises [2, 3], which is 6 bytes after byte 12");
  EXPECT_EQ(error_reading(header({2, 3}) + "1234567"),
            "bytes follow after byte 18, where [2, 3] ends");
}

TEST_F(Idx, BelievesNoCount) {
  EXPECT_EQ(error_reading(header({0xffffffff}) + "12345"),
            "truncated at byte 13: the header promises [4294967295], which is 4294967295 bytes "
            "after byte 8");
  EXPECT_EQ(error_reading(header({0xffffffff, 0xffffffff, 0xffffffff})),
            "the size 4294967295 of axis 1 at byte 8 asks for more than 2^48 elements");
  EXPECT_EQ(error_reading(header({0, 0xffffffff, 0xffffffff})),
            "the size 4294967295 of axis 2 at byte 12 asks for more than 2^48 elements");
}

TEST_F(Idx, EveryTruncationIsAnError) {
  Bytes whole = header({3, 4, 5}) + Bytes(60, 'x');
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_THAT(error_reading(whole.substr(0, length)),
                ::testing::StartsWith(concat("truncated at byte ", length)));
}

TEST_F(Idx, DamagedGzipDataAreAnError) {
  Bytes content = header({100, 10});
  for (unsigned i = 0; i < 1000; ++i) content += static_cast<char>(i * i * 7919 >> 5);
  std::string file = write_gzip(content);
  std::ifstream in(file, std::ios::binary);
  Bytes zipped(std::istreambuf_iterator<char>(in), {});
  in.close();
  for (std::size_t length = 3; length < zipped.size() - 8; length += 37) {
    write(zipped.substr(0, length), "file.gz");
    EXPECT_NE(error_of([&] { read_idx(file); }), "no error") << length;
  }
  PhiloxStream random(philox_key(1, "damage"));
  for (int i = 0; i < 200; ++i) {
    Bytes bad = zipped;
    bad[10 + random.below(bad.size() - 10)] ^= static_cast<char>(1 + random.below(255));
    write(bad, "file.gz");
    EXPECT_THAT(error_of([&] { read_idx(file); }), ::testing::HasSubstr(file + ": ")) << i;
  }
}

TEST_F(Idx, AMissingFileIsNamed) {
  EXPECT_EQ(error_of([&] { read_idx(path("nothing")); }),
            "cannot read `" + path("nothing")
                + "`: No such file or directory; check the path; its folder must exist");
  EXPECT_EQ(error_of([&] { mnist(directory_.path(), Split::test); }),
            "mnist: found neither " + path("t10k-images-idx3-ubyte") + " nor "
                + path("t10k-images-idx3-ubyte.gz")
                + "; the directory must hold the four files of MNIST");
}

TEST_F(Idx, MnistScalesPixelsAndReadsLabels) {
  Bytes pixels(2 * 784, '\0');
  pixels[0] = '\xff';
  pixels[784 + 29] = '\x33';  // image 1, row 1, column 1: 51 / 255 = 0.2
  write_gzip(header({2, 28, 28}) + pixels, "t10k-images-idx3-ubyte.gz");
  write(header({2}) + Bytes("\x07\x09", 2), "t10k-labels-idx1-ubyte");
  Dataset data = mnist(directory_.path(), Split::test);
  EXPECT_EQ(data.cardinality(), 2);
  InputStreamPtr stream = open(data);
  Features element;
  ASSERT_TRUE(stream->next(element));
  EXPECT_EQ(to_string(signature_of(element)), "image f32[28, 28, 1], label i64[]");
  EXPECT_EQ(element.at("image").at(0), 1);
  EXPECT_EQ(element.at("image").at(29), 0);
  EXPECT_EQ(element.at("label").item(), 7);
  ASSERT_TRUE(stream->next(element));
  EXPECT_EQ(element.at("image").at(0), 0);
  EXPECT_EQ(element.at("image").span<float>()[29], 51.0f / 255.0f);
  EXPECT_EQ(element.at("label").item(), 9);
  EXPECT_FALSE(stream->next(element));
}

TEST_F(Idx, MnistRefusesFilesThatDoNotBelongTogether) {
  Bytes image(784, 'x');
  std::string images = path("train-images-idx3-ubyte"), labels = path("train-labels-idx1-ubyte");
  EXPECT_EQ(error_of_mnist(header({1, 28, 28}) + image, header({2}) + Bytes(2, '\0')),
            labels
                + ": the sizes from byte 4 on are [2], expected [1], one label for each image in "
                + images);
  EXPECT_EQ(error_of_mnist(header({2, 14, 28}) + image, header({2}) + Bytes(2, '\0')),
            images + ": the sizes from byte 4 on are [2, 14, 28], expected [n, 28, 28]");
  EXPECT_EQ(error_of_mnist(header({1}) + "x", header({1}) + "\1"),
            images + ": the sizes from byte 4 on are [1], expected [n, 28, 28]");
  EXPECT_EQ(error_of_mnist(header({1, 28, 28}) + image, header({1}, 12) + big_endian(3)),
            labels + ": the elements are i32, expected bytes (type 8 at byte 2)");
  EXPECT_EQ(error_of_mnist(header({1, 28, 28}) + image, header({1}) + "\x0a"),
            labels + ": the label at byte 8 is 10, expected 0 to 9");
}

TEST(Mnist, ReadsTheRealFiles) {
  const char* given = std::getenv("BELFRY_DATA_DIR");
  std::filesystem::path directory =
      given ? std::filesystem::path(given) / "mnist" : BELFRY_SOURCE_DIR "/../shared/data/mnist";
  if (!std::filesystem::exists(directory))
    GTEST_SKIP() << "no MNIST in " << directory << "; set BELFRY_DATA_DIR to the folder above it";
  for (Split split : {Split::train, Split::test}) {
    Dataset data = mnist(directory.string(), split);
    std::int64_t count = split == Split::train ? 60'000 : 10'000;
    EXPECT_EQ(data.cardinality(), count);
    InputStreamPtr stream = open(data | batch(1000));
    Features batch;
    Values labels(10);
    double ink = 0;
    while (stream->next(batch)) {
      for (std::int64_t label : batch.at("label").span<std::int64_t>())
        ++labels[static_cast<std::size_t>(label)];
      for (float x : batch.at("image").span<float>()) ink += x;
    }
    // Counts of the ten classes, and the mean pixel, that are known of these files.
    EXPECT_EQ(labels, split == Split::train
                          ? (Values{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949})
                          : (Values{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}));
    EXPECT_NEAR(ink / static_cast<double>(count) / 784, split == Split::train ? 0.1307 : 0.1325,
                5e-5);
  }
}

}  // namespace
}  // namespace belfry::data
