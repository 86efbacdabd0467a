#include "belfry/data/formats/tfrecord.h"

#include "belfry/data/formats/example.h"
#include "source_files.h"

namespace belfry::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Words records(const Dataset& dataset) { return strings(dataset, "record"); }

class TfRecord : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const Words& records,
                    Compression compression = Compression::none) const {
    TfRecordWriter file(files_ / name, compression);
    for (const std::string& record : records) file.write(bytes_in(record));
    file.close();
    return files_ / name;
  }
  // The file with one byte changed.
  std::string damage(const std::string& path, std::size_t at) const {
    std::string bytes = content_of(path);
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    return files_.write("damaged", bytes);
  }
  SourceFiles files_;
};

// The first record begins at byte 0 and takes 12 + 5 + 4 bytes; the others begin at 21, 37 and 56.
const Words four{"first", "", "the 3rd", "fourth"};

TEST_F(TfRecord, OfFilesAreInterleavedWithoutAFunctionOfYourOwn) {
  std::string a = write("a", {"1", "2"}), b = write("b", {"3"});
  EXPECT_EQ(records(files({a, b}) | interleave(read_tfrecords)), (Words{"1", "3", "2"}));
  EXPECT_EQ(records(files({a, b}) | flat_map(read_tfrecords)), (Words{"1", "2", "3"}));
}

// Fewer files than pipelines: each gets records of all files, which none of the others gets.
TEST_F(TfRecord, RecordsAreSharedWhereThereAreTooFewFiles) {
  std::vector<std::string> paths;
  Words all;
  for (int file = 0; file < 3; ++file) {
    Words mine;
    for (int i = 0; i < 5 + file; ++i) mine.push_back(concat(file, "-", i));
    paths.push_back(write(concat(file), mine));
    all.insert(all.end(), mine.begin(), mine.end());
  }
  for (ShardPolicy policy : {ShardPolicy::automatic, ShardPolicy::data})
    for (int workers : {1, 2}) {
      Dataset data = files(paths) | shuffle(3) | with_options({.shard = policy})
                     | interleave(read_tfrecords, {.workers = workers}) | repeat(2) | prefetch(2);
      Words seen;
      for (int i = 0; i < 7; ++i) {
        Words mine = words_of_shard(data, 7, i, "record");
        EXPECT_GE(mine.size(), 4u);
        seen.insert(seen.end(), mine.begin(), mine.end());
      }
      Words twice = all;
      twice.insert(twice.end(), all.begin(), all.end());
      EXPECT_THAT(seen, ::testing::UnorderedElementsAreArray(twice));
    }
  Dataset by_file =
      files(paths) | with_options({.shard = ShardPolicy::file}) | interleave(read_tfrecords);
  EXPECT_EQ(error_of([&] { words_of_shard(by_file, 7, 0, "record"); }),
            "files: 3 elements cannot be shared by 7 pipelines; use fewer, more data, or "
            "ShardPolicy::off");
}

TEST_F(TfRecord, ReadsFilesInOrder) {
  std::string a = write("a", four), none = write("none", {}), b = write("b", {"x"});
  EXPECT_EQ(records(tfrecord({a, none, b})), (Words{"first", "", "the 3rd", "fourth", "x"}));
  EXPECT_EQ(error_of([] { tfrecord({}); }), "tfrecord: there are no files");
}

TEST_F(TfRecord, ReadsTheFormat) {
  // The records "abc" and "", with checksums computed bit by bit.
  std::string path =
      files_.write("tf", std::string_view("\x03\0\0\0\0\0\0\0\xb0\x99\x49\x0e"
                                          "abc\x6e\x57\xf1\x21"
                                          "\0\0\0\0\0\0\0\0\x29\x03\x98\x07\xd8\xea\x82\xa2",
                                          35));
  EXPECT_EQ(records(tfrecord({path})), (Words{"abc", ""}));
}

TEST_F(TfRecord, AMissingFileIsOneError) {
  EXPECT_THAT(records(tfrecord({write("a", {"1"}), files_ / "gone", write("b", {"2"})})),
              ElementsAre("1", HasSubstr(files_ / "gone"), "2"));
}

TEST_F(TfRecord, DamagedBytesCostOneRecord) {
  std::string bad = damage(write("a", four), 37 + 12 + 3);
  Dataset data = tfrecord({bad, write("b", {"x"})});
  EXPECT_THAT(
      records(data),
      ElementsAre("first", "",
                  AllOf(StartsWith("error: " + bad + ": the checksum of the record's 7 bytes"),
                        HasSubstr("(in record 2 at byte 37)")),
                  "fourth", "x"));
  expect_resumes(data, 60, 25, "record");
  expect_skips(data, "record");
}

TEST_F(TfRecord, ADamagedLengthCostsTheRestOfTheFile) {
  std::string bad = damage(write("a", four), 37 + 1);
  Dataset data = tfrecord({bad, write("b", {"x"}), bad});
  auto error = AllOf(StartsWith("error: " + bad), HasSubstr("(in record 2 at byte 37)"));
  EXPECT_THAT(records(data), ElementsAre("first", "", error, "x", "first", "", error));
  expect_resumes(data, 60, 25, "record");
  expect_skips(data, "record");
}

TEST_F(TfRecord, ATruncatedFileIsOneError) {
  std::string whole = content_of(write("a", four)), b = write("b", {"x"});
  for (std::size_t size : {38u, 51u, 55u}) {
    std::string cut = files_.write("cut", whole.substr(0, size));
    Dataset data = tfrecord({cut, b});
    EXPECT_THAT(records(data),
                ElementsAre("first", "", StartsWith("error: " + cut + ": truncated"), "x"))
        << size;
    expect_resumes(data, 60, 25, "record");
    expect_skips(data, "record");
  }
}

TEST_F(TfRecord, Resumes) {
  for (Compression compression : {Compression::none, Compression::gzip, Compression::zlib}) {
    std::string a = write("a", four, compression), b = write("b", {}, compression);
    Dataset data = tfrecord({a, b, files_ / "gone", a});
    ASSERT_THAT(records(data), ElementsAre("first", "", "the 3rd", "fourth", HasSubstr("gone"),
                                           "first", "", "the 3rd", "fourth"));
    expect_resumes(data, 60, 25, "record");
    expect_resumes(data | shuffle(3) | repeat(2), 60, 25, "record");
    expect_skips(data, "record");
  }
}

TEST_F(TfRecord, WholeFilesAreShared) {
  std::vector<std::string> paths;
  for (int i = 0; i < 3; ++i) paths.push_back(write(concat(i), {concat(i, "a"), concat(i, "b")}));
  EXPECT_EQ(words_of_shard(tfrecord(paths), 2, 0, "record"), (Words{"0a", "0b", "2a", "2b"}));
  EXPECT_EQ(words_of_shard(tfrecord(paths), 2, 1, "record"), (Words{"1a", "1b"}));
}

std::string serialized(const auto& message) {
  std::vector<std::byte> bytes = message.serialize();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST_F(TfRecord, ExamplesAreParsed) {
  Words messages;
  for (std::int64_t i = 0; i < 3; ++i) {
    Example example;
    example.features["label"] = std::vector<std::int64_t>{i};
    example.features["x"] = std::vector<float>{0.5f, static_cast<float>(i)};
    example.features["name"] = std::vector<std::string>{concat("n", i)};
    messages.push_back(serialized(example));
  }
  messages.insert(messages.begin() + 1, "no example");
  ExampleSpec spec{{"label", FixedLen{.dtype = DType::i64}},
                   {"x", FixedLen{.shape = {2}}},
                   {"name", VarLen{DType::u8}}};
  for (int workers : {1, 3}) {
    Dataset data = tfrecord({write("a", messages)}) | parse_examples(spec, {.workers = workers});
    Words names = strings(data, "name");
    EXPECT_THAT(
        names, ElementsAre(
                   "n0", HasSubstr("(at element 1, epoch 0, of " + (files_ / "a") + " at byte 69)"),
                   "n1", "n2"));
    EXPECT_EQ(words(data, 1000, "label")[3], "2");
    EXPECT_EQ(words(data, 1000, "x")[3], "0,2");
    expect_resumes(data, 60, 25, "label");
  }
  InputStreamPtr stream = open(tfrecord({files_ / "a"}) | parse_examples(spec));
  Features element;
  stream->next(element);
  EXPECT_EQ(to_string(signature_of(element)), "label i64[], x f32[2], name u8[2]");
}

TEST_F(TfRecord, SequenceExamplesAreParsed) {
  SequenceExample example;
  example.context["label"] = std::vector<std::int64_t>{5};
  for (float x : {1.0f, 2.0f, 3.0f})
    example.feature_lists["x"].push_back(std::vector<float>{x, -x});
  Dataset data = tfrecord({write("a", {serialized(example)})})
                 | parse_sequence_examples({.context = {{"label", FixedLen{.dtype = DType::i64}}},
                                            .feature_lists = {{"x", {.shape = {2}}}}});
  EXPECT_EQ(words(data, 1000, "label"), Words{"5"});
  EXPECT_EQ(words(data, 1000, "x"), Words{"1,-1,2,-2,3,-3"});
}

}  // namespace
}  // namespace belfry::data
