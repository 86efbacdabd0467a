#include "belfry/data/formats/byte_reader.h"

#include <zlib.h>

#include <filesystem>

#include "../../framework/base/temporary_folder.h"
#include "formats/bytes.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Compressed by zlib itself; 16 makes the framing that of gzip, 0 that of zlib.
ByteVector compressed(std::span<const std::byte> bytes, int framing) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + framing, 8, Z_DEFAULT_STRATEGY), Z_OK);
  ByteVector out(deflateBound(&stream, bytes.size()) + 64);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

ByteVector gzipped(std::span<const std::byte> bytes) { return compressed(bytes, 16); }

ByteVector read_up_to(ByteReader& reader, std::size_t count) {
  ByteVector out(count);
  out.resize(reader.read(out));
  return out;
}

ByteVector read_all(ByteReader& reader) {
  ByteVector out;
  for (ByteVector piece(1); !piece.empty(); out = std::move(out) + piece)
    piece = read_up_to(reader, 100'000);
  return out;
}

/// More than two buffers, random and compressible parts.
const ByteVector& content() {
  static const ByteVector bytes = random_bytes(1'000'000) + repetitive_bytes(1'500'001);
  return bytes;
}

struct Kind {
  const char* name;
  Compression compression;
  bool memory;
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

/// Reads the same content from plain and compressed files and memory.
class EachKind : public ::testing::TestWithParam<Kind> {
 protected:
  EachKind() {
    Compression c = GetParam().compression;
    stored_ =
        c == Compression::none ? content() : compressed(content(), c == Compression::gzip ? 16 : 0);
    write_bytes(folder_ / "file", stored_);
  }
  std::unique_ptr<ByteReader> open() const {
    Compression c = GetParam().compression;
    if (GetParam().memory) return std::make_unique<ByteReader>(stored_, "memory", c);
    return std::make_unique<ByteReader>(folder_ / "file", c);
  }
  std::string name() const { return GetParam().memory ? "memory" : folder_ / "file"; }

  TemporaryFolder folder_;
  ByteVector stored_;
};

TEST_P(EachKind, ReadsInPiecesOfAnySize) {
  for (std::size_t size : {std::size_t{1'000}, std::size_t{65'537}, ByteReader::buffer_bytes,
                           ByteReader::buffer_bytes + 1, std::size_t{10'000'000}}) {
    auto reader = open();
    ByteVector got;
    while (true) {
      ASSERT_EQ(reader->offset(), std::ssize(got));
      ByteVector piece = read_up_to(*reader, size);
      got = std::move(got) + piece;
      if (piece.size() < size) break;
    }
    EXPECT_TRUE(got == content()) << size;
    EXPECT_TRUE(read_up_to(*reader, 5).empty());
  }
}

TEST_P(EachKind, MixesSmallAndLargeReads) {
  auto reader = open();
  ByteVector got;
  for (std::size_t size : {1, 1'200'000, 2, 1'048'576, 0, 3, 100'000, 10'000'000})
    got = std::move(got) + read_up_to(*reader, size);
  EXPECT_TRUE(got == content());
}

TEST_P(EachKind, SkipsAndSeeks) {
  auto reader = open();
  auto expect_at = [&](std::int64_t offset) {
    EXPECT_EQ(reader->offset(), offset);
    auto expected = std::span(content()).subspan(static_cast<std::size_t>(offset));
    EXPECT_EQ(text_of(read_up_to(*reader, 10)),
              text_of(expected.first(std::min<std::size_t>(10, expected.size()))));
  };
  EXPECT_EQ(reader->skip(5), 5);
  expect_at(5);
  EXPECT_EQ(reader->skip(1'500'000), 1'500'000);
  expect_at(1'500'015);
  for (std::int64_t offset : {2'000'000, 2'000'020, 3, 13, 2'500'001, 0, 1'048'576, 1'048'570}) {
    reader->seek(offset);
    expect_at(offset);
  }
  reader->seek(2'500'000);
  EXPECT_EQ(reader->skip(10), 1);
  EXPECT_EQ(reader->skip(10), 0);
  EXPECT_EQ(error_of([&] { reader->seek(2'500'002); }),
            name() + ": cannot go to byte 2500002: it ends at byte 2500001");
  reader->seek(7);
  EXPECT_EQ(reader->skip(std::numeric_limits<std::int64_t>::max()), 2'499'994);
  EXPECT_EQ(error_of([&] { reader->seek(-1); }),
            name() + ": cannot go to byte -1; a negative offset");
  EXPECT_EQ(error_of([&] { reader->skip(-2); }),
            name() + ": cannot skip -2 bytes; a negative number");
}

TEST_P(EachKind, KnowsTheSizeOfPlainDataOnly) {
  bool plain = GetParam().compression == Compression::none;
  EXPECT_EQ(open()->size(), plain ? std::optional<std::int64_t>(2'500'001) : std::nullopt);
  EXPECT_EQ(open()->path(), name());
  EXPECT_EQ(open()->compression(), GetParam().compression);
}

INSTANTIATE_TEST_SUITE_P(ByteReader, EachKind,
                         ::testing::Values(Kind{"plain", Compression::none, false},
                                           Kind{"gzip", Compression::gzip, false},
                                           Kind{"zlib", Compression::zlib, false},
                                           Kind{"plain_memory", Compression::none, true},
                                           Kind{"gzip_memory", Compression::gzip, true},
                                           Kind{"zlib_memory", Compression::zlib, true}),
                         [](const auto& info) { return std::string(info.param.name); });

ByteVector parse(std::span<const std::byte> bytes,
                 Compression compression = Compression::automatic) {
  ByteReader reader(bytes, "memory", compression);
  return read_all(reader);
}

TEST(ByteReader, DetectsGzipAndNothingElse) {
  ByteVector text = bytes_of("some text");
  EXPECT_EQ(parse(gzipped(text)), text);
  EXPECT_EQ(parse(text), text);
  EXPECT_EQ(parse({}), ByteVector());
  EXPECT_EQ(parse(compressed(text, 0)), compressed(text, 0));
  EXPECT_EQ(parse(gzipped(text), Compression::none), gzipped(text));
  EXPECT_EQ(parse(hex("1f 8b")), hex("1f 8b"));
  EXPECT_EQ(ByteReader(gzipped(text), "x").compression(), Compression::gzip);
  EXPECT_EQ(ByteReader(text, "x").compression(), Compression::none);
}

TEST(ByteReader, ReadsWhatGzipItselfWrote) {
  // printf 'hello' | gzip -n
  EXPECT_EQ(
      parse(hex("1f 8b 08 00 00 00 00 00 00 03 cb 48 cd c9 c9 07 00 86 a6 10 36 05 00 00 00")),
      bytes_of("hello"));
}

TEST(ByteReader, ReadsJoinedStreamsAsOne) {
  ByteVector joined = gzipped(bytes_of("one ")) + gzipped({}) + gzipped(bytes_of("two"));
  EXPECT_EQ(parse(joined), bytes_of("one two"));
  ByteReader reader(joined, "memory");
  reader.seek(5);
  reader.seek(2);
  EXPECT_EQ(read_all(reader), bytes_of("e two"));
}

TEST(ByteReader, PassesZerosBetweenAndBehindStreams) {
  ByteVector one = gzipped(bytes_of("one ")), two = gzipped(bytes_of("two"));
  EXPECT_EQ(parse(one + ByteVector(1)), bytes_of("one "));
  EXPECT_EQ(parse(one + ByteVector(511) + two + ByteVector(3'000'000)), bytes_of("one two"));
  EXPECT_THAT(error_of([&] { parse(one + ByteVector(5) + bytes_of("rubbish")); }),
              HasSubstr("damaged after byte 4 of the uncompressed data"));
  EXPECT_THAT(error_of([&] { parse(ByteVector(9), Compression::gzip); }), HasSubstr("damaged"));
}

TEST(ByteReader, SkippingInAPlainFileReadsNothing) {
  // Reading this much would take minutes, if the test machine had it.
  TemporaryFolder folder;
  write_bytes(folder / "sparse", {});
  constexpr std::int64_t size = std::int64_t{1} << 40;
  std::error_code error;
  std::filesystem::resize_file(folder / "sparse", size, error);
  if (error) GTEST_SKIP() << "no sparse files here: " << error.message();
  ByteReader reader(folder / "sparse");
  EXPECT_EQ(reader.skip(size - 3), size - 3);
  EXPECT_EQ(read_up_to(reader, 10), ByteVector(3));
  reader.seek(size / 2);
  EXPECT_EQ(read_up_to(reader, 2), ByteVector(2));
}

TEST(ByteReader, WhatCannotBeOpenedIsNamed) {
  TemporaryFolder folder;
  EXPECT_THAT(error_of([&] { ByteReader(folder / "nothing"); }),
              StartsWith("cannot read `" + folder / "nothing" + "`: No such file or directory"));
  EXPECT_THAT(error_of([&] { ByteReader(folder.path()); }), HasSubstr("not a regular file"));
}

TEST(ByteReader, EveryTruncationOfCompressedDataIsAnError) {
  for (int framing : {0, 16}) {
    auto compression = framing ? Compression::gzip : Compression::zlib;
    ByteVector whole = compressed(repetitive_bytes(10'000), framing);
    ASSERT_EQ(parse(whole, compression), repetitive_bytes(10'000));
    for (std::size_t length = 0; length < whole.size(); ++length)
      EXPECT_THAT(error_of([&] { parse(first(whole, length), compression); }),
                  StartsWith(concat("memory: truncated: the compressed data end early, after ",
                                    length, " bytes, which are ")));
  }
}

TEST(ByteReader, WhatComesBeforeATruncationIsReadAndTheErrorStays) {
  ByteVector whole = gzipped(content());
  ByteReader reader(first(whole, whole.size() - 5), "memory");
  EXPECT_TRUE(read_up_to(reader, content().size()) == content());
  std::string expected = concat("memory: truncated: the compressed data end early, after ",
                                whole.size() - 5, " bytes, which are 2500001 bytes uncompressed");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(error_of([&] { read_up_to(reader, 1); }), expected);
  reader.seek(4);
  EXPECT_EQ(read_up_to(reader, 1).front(), content()[4]);
  EXPECT_EQ(error_of([&] { read_all(reader); }), expected);
}

TEST(ByteReader, DamageIsAnErrorWithItsOffset) {
  ByteVector zipped = gzipped(bytes_of("hello"));
  ByteVector bad_checksum = zipped;
  bad_checksum[zipped.size() - 8] ^= std::byte{1};
  EXPECT_EQ(error_of([&] { parse(bad_checksum); }),
            concat("memory: damaged after byte 5 of the uncompressed data, near byte ",
                   zipped.size() - 4, " of the file: incorrect data check"));
  EXPECT_EQ(error_of([&] { parse(zipped + bytes_of("rubbish")); }),
            concat("memory: damaged after byte 5 of the uncompressed data, near byte ",
                   zipped.size() + 2, " of the file: incorrect header check"));
  EXPECT_THAT(error_of([&] { parse(bytes_of("no zlib data"), Compression::zlib); }),
              StartsWith("memory: damaged after byte 0 of the uncompressed data"));
  for_mutations(gzipped(repetitive_bytes(3'000)), 300, [](const ByteVector& bad) {
    std::string error = error_of([&] { parse(bad, Compression::gzip); });
    EXPECT_TRUE(error == "no error" || error.starts_with("memory: ")) << error;
  });
}

}  // namespace
}  // namespace belfry::data
