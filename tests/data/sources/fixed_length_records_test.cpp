#include "source_files.h"

namespace belfry::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Words records(const Dataset& dataset) { return strings(dataset, "record"); }

class FixedLengthRecords : public ::testing::Test {
 protected:
  SourceFiles files_;
};

TEST_F(FixedLengthRecords, AreReadOneAfterTheOther) {
  std::string a = files_.write("a", "abcdef"), none = files_.write("none", ""),
              b = files_.write("b", "ghi");
  EXPECT_EQ(records(fixed_length_records({a, none, b}, 3)), (Words{"abc", "def", "ghi"}));
  EXPECT_EQ(records(fixed_length_records({b}, 1)), (Words{"g", "h", "i"}));
  InputStreamPtr stream = open(fixed_length_records({a}, 3));
  Features element;
  ASSERT_TRUE(stream->next(element));
  EXPECT_EQ(to_string(signature_of(element)), "record u8[3]");
}

TEST_F(FixedLengthRecords, StandBetweenHeaderAndFooter) {
  std::string a = files_.write("a", "HHabcdFFF"), empty = files_.write("empty", "HHFFF"),
              b = files_.write("b", "hhefghijfff");
  FixedLengthOptions options{.header_bytes = 2, .footer_bytes = 3};
  Dataset data = fixed_length_records({a, empty, b}, 2, options);
  EXPECT_EQ(records(data), (Words{"ab", "cd", "ef", "gh", "ij"}));
  expect_resumes(data, 60, 25, "record");
  expect_skips(data, "record");
  // A footer may be longer than what is behind the first record of two.
  EXPECT_EQ(records(fixed_length_records({files_.write("c", "abFFFFFFF")}, 1, {.footer_bytes = 7})),
            (Words{"a", "b"}));
}

TEST_F(FixedLengthRecords, ARestIsAnError) {
  std::string a = files_.write("a", "abcde"), b = files_.write("b", "fg");
  Dataset data = fixed_length_records({a, b}, 2);
  EXPECT_EQ(records(data),
            (Words{"ab", "cd",
                   "error: " + a
                       + ": 1 bytes are left at byte 4, expected a record of 2 and "
                         "a footer of 0 (the rest of the file is left out) (at element 2, epoch 0)",
                   "fg"}));
  expect_resumes(data, 60, 25, "record");
  expect_skips(data, "record");
  std::string footer = files_.write("footer", "abF");
  EXPECT_EQ(records(fixed_length_records({footer}, 2, {.footer_bytes = 4})),
            Words{"error: " + footer
                  + ": 3 bytes are left at byte 0, expected a record of 2 and a footer of 4 (the "
                    "rest of the file is left out) (at "
                    "element 0, epoch 0)"});
}

TEST_F(FixedLengthRecords, AHeaderCutOffIsAnError) {
  std::string a = files_.write("a", "HH"), b = files_.write("b", "HHHHab");
  Dataset data = fixed_length_records({a, files_ / "gone", b}, 2, {.header_bytes = 4});
  EXPECT_THAT(
      records(data),
      ElementsAre(
          "error: " + a + ": ends at byte 2, inside its header of 4 bytes (at element 0, epoch 0)",
          HasSubstr(files_ / "gone"), "ab"));
  expect_resumes(data, 60, 25, "record");
}

TEST_F(FixedLengthRecords, MayBeCompressed) {
  std::string bytes = "HEAD";
  Words expected;
  for (int i = 0; i < 40; ++i) {
    std::string record(20'000, '\0');
    PhiloxStream random(philox_key(static_cast<std::uint64_t>(i), "record"));
    for (char& c : record) c = static_cast<char>(random.below(16));
    bytes += record;
    expected.push_back(record);
  }
  bytes += "FOOTER";
  std::string path = files_.write("a.gz", bytes, Compression::gzip);
  FixedLengthOptions options{.header_bytes = 4, .footer_bytes = 6};
  EXPECT_EQ(records(fixed_length_records({path}, 20'000, options)), expected);
  expect_resumes(fixed_length_records({path}, 20'000, options) | digest("record"), 45, 3);

  std::string zipped = content_of(path);
  std::string cut = files_.write("cut.gz", zipped.substr(0, zipped.size() / 2));
  Words got = records(fixed_length_records({cut, path}, 20'000, options));
  auto error = std::find_if(got.begin(), got.end(),
                            [](const std::string& s) { return s.starts_with("error: "); });
  ASSERT_NE(error, got.end());
  EXPECT_THAT(*error, ::testing::StartsWith("error: " + cut + ": truncated"));
  auto before = error - got.begin();
  EXPECT_GT(before, 15);
  EXPECT_EQ(Words(got.begin(), error), Words(expected.begin(), expected.begin() + before));
  EXPECT_EQ(Words(error + 1, got.end()), expected);
}

TEST_F(FixedLengthRecords, WholeFilesAreShared) {
  std::string a = files_.write("a", "ab"), b = files_.write("b", "cd"), c = files_.write("c", "ef");
  Dataset data = fixed_length_records({a, b, c}, 1);
  EXPECT_EQ(words_of_shard(data, 2, 0, "record"), (Words{"a", "b", "e", "f"}));
  EXPECT_EQ(words_of_shard(data, 2, 1, "record"), (Words{"c", "d"}));
}

TEST_F(FixedLengthRecords, RefusesOtherLengths) {
  for (std::int64_t bytes : {std::int64_t{0}, (std::int64_t{1} << 31) + 1})
    EXPECT_EQ(error_of([&] { fixed_length_records({"a"}, bytes); }),
              concat("fixed_length_records: a record has 1 to 2^31 bytes, got ", bytes));
  EXPECT_EQ(error_of([] { fixed_length_records({"a"}, 1, {.header_bytes = -1}); }),
            "fixed_length_records: a header has at least 0 bytes and a footer 0 to 2^31, got -1 "
            "and 0");
  EXPECT_EQ(error_of([] { fixed_length_records({"a"}, 1, {.footer_bytes = -2}); }),
            "fixed_length_records: a header has at least 0 bytes and a footer 0 to 2^31, got 0 and "
            "-2");
  EXPECT_EQ(error_of([] { fixed_length_records({}, 1); }),
            "fixed_length_records: there are no files");
}

}  // namespace
}  // namespace belfry::data
