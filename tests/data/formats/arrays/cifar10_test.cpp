#include "belfry/data/formats/arrays/cifar10.h"

#include "../../../framework/base/temporary_folder.h"
#include "belfry/framework/base/file.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

// A record whose byte in plane c, row y, column x is (i + 50 c + 3 y + x) mod 256.
std::string record(const std::string& labels, int i) {
  std::string out = labels;
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < 32; ++y)
      for (int x = 0; x < 32; ++x) out += static_cast<char>(i + 50 * c + 3 * y + x);
  return out;
}

struct Cifar10 : ::testing::Test {
  std::string write(const std::string& bytes) {
    write_file_atomically(path, bytes);
    return path;
  }
  TemporaryFolder folder;
  std::string path = folder / "batch.bin";
};

TEST_F(Cifar10, PutsThePlanesOfARecordIntoChannels) {
  Features batch = read_cifar10(write(record("\x07", 0) + record(std::string(1, '\0'), 9)));
  EXPECT_EQ(to_string(signature_of(batch)), "image u8[2, 32, 32, 3], label i64[2]");
  EXPECT_TRUE(identical(batch.at("label"), Array::of<std::int64_t>({7, 0})));
  auto pixels = batch.at("image").span<std::uint8_t>();
  for (int i = 0; i < 2; ++i)
    for (int y = 0; y < 32; ++y)
      for (int x = 0; x < 32; ++x)
        for (int c = 0; c < 3; ++c)
          ASSERT_EQ(pixels[static_cast<std::size_t>(((i * 32 + y) * 32 + x) * 3 + c)],
                    (9 * i + 50 * c + 3 * y + x) % 256);
}

TEST_F(Cifar10, ReadsBothLabelsOfCifar100) {
  Features batch = read_cifar100(write(record("\x13\x63", 1)));
  EXPECT_EQ(to_string(signature_of(batch)),
            "image u8[1, 32, 32, 3], coarse_label i64[1], label i64[1]");
  EXPECT_EQ(batch.at("coarse_label").item(), 19);
  EXPECT_EQ(batch.at("label").item(), 99);
  EXPECT_EQ(batch.at("image").at(5), 1 + 100 + 1);  // x = 1, blue
}

TEST_F(Cifar10, SaysWhatIsWrongWithAFile) {
  EXPECT_EQ(error_of([&] { read_cifar10(write(record("\1", 0) + "x")); }),
            path + ": 3074 bytes, expected records of 3073 bytes, at least one");
  EXPECT_EQ(error_of([&] { read_cifar10(write("")); }),
            path + ": 0 bytes, expected records of 3073 bytes, at least one");
  EXPECT_EQ(error_of([&] { read_cifar10(write(record("\1", 0) + record("\x0a", 0))); }),
            path + ": the label at byte 3073 is 10, expected 0 to 9");
  EXPECT_EQ(error_of([&] { read_cifar100(write(record("\x14\1", 0))); }),
            path + ": the coarse_label at byte 0 is 20, expected 0 to 19");
  EXPECT_EQ(error_of([&] { read_cifar100(write(record("\1\x64", 0))); }),
            path + ": the label at byte 1 is 100, expected 0 to 99");
  EXPECT_THAT(error_of([&] { read_cifar10(folder / "none"); }),
              ::testing::HasSubstr("No such file"));
}

}  // namespace
}  // namespace belfry::data
