#include "belfry/data/sources/media.h"
#include "source_files.h"

namespace belfry::data {
namespace {

using ::testing::HasSubstr;

// A record: the label, and planes of red, green and blue in which pixel i has the value
// first + i % 7 + 50 * plane.
std::string record(int label, int first) {
  std::string out{static_cast<char>(label)};
  for (int plane = 0; plane < 3; ++plane)
    for (int i = 0; i < 1024; ++i) out += static_cast<char>(first + i % 7 + 50 * plane);
  return out;
}

class Cifar10Source : public ::testing::Test {
 protected:
  Cifar10Source() {
    for (int i = 1; i <= 5; ++i)
      files_.write(concat("data_batch_", i, ".bin"), record(i, 10 * i) + record(9 - i, 10 * i + 1));
    files_.write("test_batch.bin", record(0, 3));
  }
  SourceFiles files_;
};

TEST_F(Cifar10Source, ReadsAllBatchesInOrder) {
  Dataset data = cifar10(files_.path(), Split::train);
  EXPECT_EQ(words(data, 1000, "label"), (Words{"1", "8", "2", "7", "3", "6", "4", "5", "5", "4"}));
  EXPECT_EQ(data.cardinality(), 10);
  EXPECT_TRUE(data.info().random_access);
  expect_resumes(data | shuffle(10), 60, 25, "label");
}

TEST_F(Cifar10Source, PixelsAreInterleaved) {
  InputStreamPtr stream = open(cifar10(files_.path(), Split::train) | skip(3));
  Features element;
  ASSERT_TRUE(stream->next(element));
  EXPECT_EQ(to_string(signature_of(element)), "image u8[32, 32, 3], label i64[]");
  const Array& image = element.at("image");
  for (std::int64_t i : {0, 1, 33, 1023})
    for (std::int64_t c = 0; c < 3; ++c)
      EXPECT_EQ(image.at(3 * i + c), static_cast<double>(21 + i % 7 + 50 * c)) << i << " " << c;
}

TEST_F(Cifar10Source, HasATestSet) {
  Dataset data = cifar10(files_.path(), Split::test);
  EXPECT_EQ(words(data, 1000, "label"), Words{"0"});
  InputStreamPtr stream = open(data);
  Features element;
  stream->next(element);
  EXPECT_EQ(element.at("image").at(0), 3);
}

TEST_F(Cifar10Source, ReadsCifar100Too) {
  files_.write("train.bin", "\x13" + record(99, 5) + "\x02" + record(7, 6));
  files_.write("test.bin", "\x01" + record(50, 9));
  Dataset data = cifar100(files_.path(), Split::train);
  EXPECT_EQ(words(data, 1000, "label"), (Words{"99", "7"}));
  EXPECT_EQ(words(data, 1000, "coarse_label"), (Words{"19", "2"}));
  EXPECT_TRUE(data.info().random_access);
  InputStreamPtr stream = open(cifar100(files_.path(), Split::test));
  Features element;
  ASSERT_TRUE(stream->next(element));
  EXPECT_EQ(to_string(signature_of(element)),
            "image u8[32, 32, 3], coarse_label i64[], label i64[]");
  EXPECT_EQ(element.at("image").at(4), 9 + 1 + 50);  // the second pixel's green
}

TEST_F(Cifar10Source, NamesTheFileThatIsMissing) {
  std::filesystem::remove(files_ / "data_batch_4.bin");
  EXPECT_THAT(error_of([&] { cifar10(files_.path(), Split::train); }),
              HasSubstr(files_ / "data_batch_4.bin"));
}

}  // namespace
}  // namespace belfry::data
