#include "belfry/data/formats/tfrecord.h"

#include "../../framework/base/temporary_folder.h"
#include "formats/bytes.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

// Checksums computed bit by bit with the polynomial, in another language.
const ByteVector empty_record = hex("00 00 00 00 00 00 00 00 29 03 98 07 d8 ea 82 a2");
const ByteVector hello_record =
    hex("05 00 00 00 00 00 00 00 ea b2 04 3e"
        "68 65 6c 6c 6f bb 1f 1c 19");
const ByteVector digits_record =
    hex("09 00 00 00 00 00 00 00 37 f9 71 39"
        "31 32 33 34 35 36 37 38 39 e5 b0 8a c7");

/// One word a call of next(), up to the end.
std::vector<std::string> words(TfRecordReader& reader) {
  std::vector<std::string> out;
  ByteVector record;
  for (bool more = true; more && out.size() < 100;) {
    std::string error = error_of([&] {
      more = reader.next(record);
      if (more) out.push_back(text_of(record));
    });
    if (error != "no error") out.push_back("error: " + error);
  }
  return out;
}

std::vector<std::string> words(std::span<const std::byte> bytes,
                               Compression compression = Compression::automatic) {
  TfRecordReader reader(bytes, "m", compression);
  return words(reader);
}

TEST(TfRecordReader, ReadsKnownBytes) {
  EXPECT_THAT(words(empty_record + hello_record + digits_record),
              ElementsAre("", "hello", "123456789"));
  EXPECT_TRUE(words(ByteVector()).empty());
}

TEST(TfRecordWriter, WritesKnownBytes) {
  TemporaryFolder folder;
  TfRecordWriter writer(folder / "f");
  writer.write({});
  writer.write(bytes_of("hello"));
  writer.flush();
  writer.write(bytes_of("123456789"));
  writer.close();
  EXPECT_EQ(read_bytes(folder / "f"), empty_record + hello_record + digits_record);
}

TEST(TfRecordWriter, WithoutCloseNothingIsLeft) {
  TemporaryFolder folder;
  { TfRecordWriter(folder / "f").write(bytes_of("hello")); }
  EXPECT_TRUE(folder.names().empty());
}

class EachCompression : public ::testing::TestWithParam<Compression> {
 protected:
  EachCompression() {
    for (std::size_t size : {0, 1, 100'000, 1'048'576, 5, 3'000'003, 1'048'564, 0, 3})
      records_.push_back(random_bytes(size, size));
    TfRecordWriter writer(file_, GetParam());
    for (const ByteVector& record : records_) writer.write(record);
    writer.close();
  }
  TemporaryFolder folder_;
  std::string file_ = folder_ / "f";
  std::vector<ByteVector> records_;
};

TEST_P(EachCompression, RecordsOfAnySizeComeBack) {
  for (auto compression : {GetParam(), Compression::automatic}) {
    TfRecordReader reader(file_, compression);
    ByteVector record;
    for (const ByteVector& expected : records_) {
      ASSERT_TRUE(reader.next(record));
      EXPECT_TRUE(record == expected) << expected.size();
    }
    EXPECT_FALSE(reader.next(record));
    EXPECT_FALSE(reader.next(record));
    EXPECT_FALSE(reader.skip());
  }
}

TEST_P(EachCompression, ASavedPositionContinuesThere) {
  std::vector<TfRecordPosition> positions;
  TfRecordReader reader(file_);
  do positions.push_back(reader.position());
  while (reader.skip());
  ASSERT_EQ(positions.size(), records_.size() + 1);
  EXPECT_EQ(positions[1], (TfRecordPosition{.offset = 16, .record = 1}));
  EXPECT_EQ(positions[3].offset, 3 * 16 + 100'001);
  TfRecordReader other(file_);
  ByteVector record;
  for (std::size_t i : {3u, 8u, 9u, 0u, 5u, 4u}) {
    other.seek(positions[i]);
    EXPECT_EQ(other.position(), positions[i]);
    ASSERT_EQ(other.next(record), i < records_.size()) << i;
    EXPECT_TRUE(i == records_.size() || record == records_[i]) << i;
  }
  EXPECT_THAT(error_of([&] { other.seek({.offset = 100'000'000, .record = 7}); }),
              StartsWith(file_ + ": cannot go to byte 100000000"));
  EXPECT_FALSE(other.next(record));
  other.seek(positions[1]);
  ASSERT_TRUE(other.next(record));
  EXPECT_TRUE(record == records_[1]);
}

INSTANTIATE_TEST_SUITE_P(TfRecord, EachCompression,
                         ::testing::Values(Compression::none, Compression::gzip, Compression::zlib),
                         [](const auto& info) { return to_string(info.param); });

TEST(TfRecordReader, ADamagedRecordCostsOnlyItself) {
  ByteVector damaged = digits_record;
  damaged[14] ^= std::byte{4};
  // The masked checksum of "127456789", then that of "123456789"
  EXPECT_THAT(words(hello_record + damaged + hello_record),
              ElementsAre("hello",
                          "error: m: the checksum of the record's 9 bytes is 1361541284, expected "
                          "3347755237: the file is damaged (in record 1 at byte 21)",
                          "hello"));
}

TEST(TfRecordReader, ADamagedLengthCostsTheRest) {
  ByteVector damaged = digits_record;
  damaged[0] = std::byte{8};
  ByteVector all = hello_record + damaged + hello_record;
  TfRecordReader reader(all, "m");
  EXPECT_THAT(
      words(reader),
      ElementsAre("hello", StartsWith("error: m: the checksum of the record's length, 8, is ")));
  EXPECT_EQ(reader.position(), (TfRecordPosition{.offset = TfRecordPosition::lost, .record = 2}));
  TfRecordReader other(all, "m");
  other.seek(reader.position());
  EXPECT_TRUE(words(other).empty());
  other.seek({});
  EXPECT_EQ(words(other).size(), 2u);
}

TEST(TfRecordReader, EveryTruncationIsAnErrorOfTheLastRecord) {
  ByteVector whole = hello_record + digits_record;
  for (std::size_t length = 1; length < whole.size(); ++length) {
    auto got = words(first(whole, length), Compression::none);
    if (length == hello_record.size()) {
      EXPECT_THAT(got, ElementsAre("hello"));
      continue;
    }
    bool second = length > hello_record.size();
    ASSERT_EQ(got.size(), second ? 2u : 1u) << length;
    EXPECT_THAT(got.back(),
                StartsWith(concat("error: m: truncated at byte ", length, ", inside ")));
    EXPECT_TRUE(
        got.back().ends_with(second ? " (in record 1 at byte 21)" : " (in record 0 at byte 0)"))
        << got.back();
  }
}

TEST(TfRecordReader, SkippingFindsTruncationToo) {
  ByteVector whole = hello_record + digits_record;
  for (std::size_t length : {22u, 35u, 40u, 45u}) {
    TfRecordReader reader(first(whole, length), "m");
    EXPECT_TRUE(reader.skip());
    EXPECT_THAT(error_of([&] { reader.skip(); }),
                StartsWith(concat("m: truncated at byte ", length, ", inside ")));
    EXPECT_FALSE(reader.skip());
  }
}

TEST(TfRecordReader, BelievesNoLength) {
  // 2^60 and 2^63 bytes, with the right checksums of these lengths
  for (const char* header :
       {"00 00 00 00 00 00 00 10 c4 23 4e 8e", "00 00 00 00 00 00 00 80 95 08 67 b6"}) {
    ByteVector bytes = hex(header) + bytes_of("few");
    EXPECT_THAT(words(bytes),
                ElementsAre(StartsWith("error: m: truncated at byte 15, inside a record of ")));
    TemporaryFolder folder;
    ByteWriter writer(folder / "f", Compression::gzip);
    writer.write(bytes);
    writer.close();
    TfRecordReader zipped(folder / "f");
    EXPECT_THAT(words(zipped),
                ElementsAre(StartsWith("error: " + folder / "f" + ": truncated at byte 15, ")));
    zipped.seek({});
    EXPECT_THAT(error_of([&] { zipped.skip(); }),
                StartsWith(folder / "f" + ": truncated at byte 15, "));
  }
}

TEST(TfRecordReader, DamageToCompressedDataNamesTheRecord) {
  TemporaryFolder folder;
  TfRecordWriter writer(folder / "f", Compression::gzip);
  writer.write(bytes_of("hello"));
  writer.write(random_bytes(100'000));
  writer.close();
  ByteVector zipped = read_bytes(folder / "f");
  TfRecordReader reader(first(zipped, 50'000), "m");
  EXPECT_THAT(words(reader),
              ElementsAre("hello", ::testing::AllOf(
                                       StartsWith("error: m: truncated: the compressed data end "),
                                       ::testing::EndsWith(" (in record 1 at byte 21)"))));
}

TEST(TfRecordReader, ARecordThatBeginsLikeGzipIsARecord) {
  // The length 559,903 is 1f 8b 08 00...
  ByteVector record = repetitive_bytes(559'903);
  TemporaryFolder folder;
  TfRecordWriter writer(folder / "f");
  writer.write(record);
  writer.close();
  ByteVector stored = read_bytes(folder / "f");
  EXPECT_EQ(ByteVector(stored.begin(), stored.begin() + 4), hex("1f 8b 08 00"));
  TfRecordReader reader(folder / "f");
  ByteVector got;
  ASSERT_TRUE(reader.next(got));
  EXPECT_TRUE(got == record);
}

TEST(TfRecordReader, AnyBytesGiveRecordsOrErrors) {
  for_mutations(hello_record + empty_record + digits_record, 3'000,
                [](const ByteVector& bad) { EXPECT_LT(words(bad).size(), 5u); });
}

}  // namespace
}  // namespace belfry::data
