#include "belfry/data/formats/arrays/npz.h"

#include <sys/resource.h>
#include <zlib.h>

#include "../../../framework/base/temporary_folder.h"
#include "formats/bytes.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Two archives as numpy.savez and numpy.savez_compressed write them, by the way of Python's zipfile
// with force_zip64: {x: int32 7, y: uint8 9}, and {w/b: float32 [[1, 2, 3], [4, 5, 6]],
// a: int64 [1, 2, 3]}.
const ByteVector stored =
    hex("50 4b 03 04 2d 00 00 00 00 00 00 00 21 00 0c 2d b1 b4 ff ff ff ff ff ff ff ff 05 00 14 00"
        "78 2e 6e 70 79 01 00 10 00 84 00 00 00 00 00 00 00 84 00 00 00 00 00 00 00 93 4e 55 4d 50"
        "59 01 00 76 00 7b 27 64 65 73 63 72 27 3a 20 27 3c 69 34 27 2c 20 27 66 6f 72 74 72 61 6e"
        "5f 6f 72 64 65 72 27 3a 20 46 61 6c 73 65 2c 20 27 73 68 61 70 65 27 3a 20 28 29 2c 20 7d"
        "20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20"
        "20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20"
        "20 20 0a 07 00 00 00 50 4b 03 04 2d 00 00 00 00 00 00 00 21 00 71 23 ab 6e ff ff ff ff ff"
        "ff ff ff 05 00 14 00 79 2e 6e 70 79 01 00 10 00 81 00 00 00 00 00 00 00 81 00 00 00 00 00"
        "00 00 93 4e 55 4d 50 59 01 00 76 00 7b 27 64 65 73 63 72 27 3a 20 27 7c 75 31 27 2c 20 27"
        "66 6f 72 74 72 61 6e 5f 6f 72 64 65 72 27 3a 20 46 61 6c 73 65 2c 20 27 73 68 61 70 65 27"
        "3a 20 28 29 2c 20 7d 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20"
        "20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20 20"
        "20 20 20 20 20 20 20 20 20 0a 09 50 4b 01 02 2d 03 2d 00 00 00 00 00 00 00 21 00 0c 2d b1"
        "b4 84 00 00 00 84 00 00 00 05 00 00 00 00 00 00 00 00 00 00 00 80 01 00 00 00 00 78 2e 6e"
        "70 79 50 4b 01 02 2d 03 2d 00 00 00 00 00 00 00 21 00 71 23 ab 6e 81 00 00 00 81 00 00 00"
        "05 00 00 00 00 00 00 00 00 00 00 00 80 01 bb 00 00 00 79 2e 6e 70 79 50 4b 05 06 00 00 00"
        "00 02 00 02 00 66 00 00 00 73 01 00 00 00 00");
const ByteVector deflated =
    hex("50 4b 03 04 2d 00 00 00 08 00 00 00 21 00 7c 9c de a2 ff ff ff ff ff ff ff ff 07 00 14 00"
        "77 2f 62 2e 6e 70 79 01 00 10 00 98 00 00 00 00 00 00 00 58 00 00 00 00 00 00 00 9b ec 17"
        "ea 1b 10 c9 c8 50 c6 50 ad 9e 92 5a 9c 5c a4 6e a5 a0 6e 93 66 a2 ae a3 a0 9e 96 5f 54 52"
        "94 98 17 9f 5f 94 92 0a 12 77 4b cc 29 4e 05 8a 17 67 24 16 a4 02 f9 1a 46 3a 0a c6 9a 3a"
        "0a b5 0a 64 03 2e 06 86 06 7b 06 06 06 07 20 02 e2 06 20 5e 00 c4 07 1c 00 50 4b 03 04 2d"
        "00 00 00 08 00 00 00 21 00 bc 91 55 8e ff ff ff ff ff ff ff ff 05 00 14 00 61 2e 6e 70 79"
        "01 00 10 00 98 00 00 00 00 00 00 00 4d 00 00 00 00 00 00 00 9b ec 17 ea 1b 10 c9 c8 50 c6"
        "50 ad 9e 92 5a 9c 5c a4 6e a5 a0 6e 93 69 a1 ae a3 a0 9e 96 5f 54 52 94 98 17 9f 5f 94 92"
        "0a 12 77 4b cc 29 4e 05 8a 17 67 24 16 a4 02 f9 1a c6 3a 9a 3a 0a b5 0a 14 00 2e 46 06 08"
        "60 82 d2 cc 50 1a 00 50 4b 01 02 2d 03 2d 00 00 00 08 00 00 00 21 00 7c 9c de a2 58 00 00"
        "00 98 00 00 00 07 00 00 00 00 00 00 00 00 00 00 00 80 01 00 00 00 00 77 2f 62 2e 6e 70 79"
        "50 4b 01 02 2d 03 2d 00 00 00 08 00 00 00 21 00 bc 91 55 8e 4d 00 00 00 98 00 00 00 05 00"
        "00 00 00 00 00 00 00 00 00 00 80 01 91 00 00 00 61 2e 6e 70 79 50 4b 05 06 00 00 00 00 02"
        "00 02 00 68 00 00 00 15 01 00 00 00 00");
constexpr std::size_t second_entry = 0xbb;       // in `stored`
constexpr std::size_t directory = 0x173;         // in `stored`
constexpr std::size_t directory_entry = 46 + 5;  // bytes

ByteVector little(std::uint64_t value, int bytes) {
  ByteVector out;
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<std::byte>(value >> (8 * i)));
  return out;
}

std::string error_in(std::span<const std::byte> bytes) {
  return error_of([&] { parse_npz(bytes, "m"); });
}

/// `stored` with other bytes at `offset`.
ByteVector patched(std::size_t offset, std::string_view digits, ByteVector bytes = stored) {
  ByteVector patch = hex(digits);
  std::copy(patch.begin(), patch.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset));
  return bytes;
}

void expect_x_and_y(const Features& arrays) {
  EXPECT_EQ(to_string(signature_of(arrays)), "x i32[], y u8[]");
  EXPECT_EQ(arrays.at("x").item(), 7);
  EXPECT_EQ(arrays.at("y").item(), 9);
}

TEST(ParseNpz, ReadsWhatNumPyWrites) {
  expect_x_and_y(parse_npz(stored));
  Features arrays = parse_npz(deflated);
  EXPECT_EQ(to_string(signature_of(arrays)), "w/b f32[2, 3], a i64[3]");
  EXPECT_TRUE(identical(arrays.at("w/b"), Array::of<float>({1, 2, 3, 4, 5, 6}, {2, 3})));
  EXPECT_TRUE(identical(arrays.at("a"), Array::of<std::int64_t>({1, 2, 3})));
}

TEST(ParseNpz, ReadsEmptyArchivesAndComments) {
  EXPECT_TRUE(parse_npz(hex("50 4b 05 06") + ByteVector(18)).empty());
  // A comment that holds the signature of an end record
  ByteVector commented = patched(stored.size() - 2, "16 00") + hex("50 4b 05 06") + ByteVector(18);
  commented.back() = std::byte{1};
  expect_x_and_y(parse_npz(commented));
}

TEST(ParseNpz, ReadsZip64) {
  // The same entries; sizes and offsets stand in extra fields, behind one of another kind.
  ByteVector archive = ByteVector(stored.begin(), stored.begin() + directory);
  auto add = [&](std::size_t at, std::uint64_t size, std::uint64_t offset) {
    auto fixed = std::span(stored).subspan(at);
    archive = std::move(archive) + fixed.first(20) + hex("ff ff ff ff ff ff ff ff 05 00 22 00")
              + fixed.subspan(32, 10) + hex("ff ff ff ff") + fixed.subspan(46, 5)
              + hex("55 54 02 00 aa bb") + hex("01 00 18 00") + little(size, 8) + little(size, 8)
              + little(offset, 8);
  };
  add(directory, 0x84, 0);
  add(directory + directory_entry, 0x81, second_entry);
  std::size_t end = archive.size();
  archive = std::move(archive) + hex("50 4b 06 06") + little(44, 8) + hex("2d 00 2d 00")
            + ByteVector(8) + little(2, 8) + little(2, 8) + little(end - directory, 8)
            + little(directory, 8) + hex("50 4b 06 07 00 00 00 00") + little(end, 8)
            + hex("01 00 00 00 50 4b 05 06 00 00 00 00 ff ff ff ff ff ff ff ff ff ff ff ff 00 00");
  expect_x_and_y(parse_npz(archive));
  for_mutations(archive, 2'000, [](const ByteVector& bad) { error_in(bad); });
  EXPECT_THAT(error_in(std::span(archive).last(22)), HasSubstr("no ZIP64 locator"));
}

TEST(ParseNpz, EveryTruncationIsAnError) {
  for (const ByteVector& whole : {stored, deflated})
    for (std::size_t length = 0; length < whole.size(); ++length)
      EXPECT_EQ(error_in(first(whole, length)),
                "m: not a ZIP archive, or truncated: it has no end record");
}

TEST(ParseNpz, NamesTheEntryThatIsWrong) {
  std::string in_x = " (in entry `x.npy` of m)";
  EXPECT_THAT(error_in(patched(183, "08")),
              AllOf(StartsWith("its checksum is "), HasSubstr(", expected 3031510284: "),
                    ::testing::EndsWith(in_x)));
  EXPECT_EQ(error_in(patched(directory + 8, "01")), "it is encrypted" + in_x);
  EXPECT_EQ(error_in(patched(directory + 10, "0c")),
            "its compression is method 12, expected 0 (stored) or 8 (deflated)" + in_x);
  EXPECT_EQ(error_in(patched(directory + 46 + 2, "5f")),
            "its name does not end in .npy; to leave it out, name the arrays to read (in entry "
            "`x._py` of m)");
  EXPECT_EQ(error_in(patched(directory + directory_entry + 46, "78")),
            "there are two of that name" + in_x);
  EXPECT_EQ(error_in(patched(directory + 42, "01")), "no local header at byte 1" + in_x);
  EXPECT_EQ(error_in(patched(directory + 24, "85")), "it has 132 bytes, expected 133" + in_x);
  EXPECT_EQ(error_in(patched(directory + 20, "ff ff 00 00")),
            "it overlaps with others, or the file is truncated" + in_x);
  EXPECT_THAT(
      error_in(patched(directory + 42, "ff ff 00 00")),
      StartsWith("m: its header has 30 bytes at byte 65535, but the file ends at byte 495"));
  EXPECT_EQ(error_in(patched(directory, "51")),
            "m: the directory at byte 371 is damaged: no signature before entry 0");
  EXPECT_THAT(
      error_in(patched(stored.size() - 6, "00 04")),
      HasSubstr("m: the directory has 102 bytes at byte 1024, but the file ends at byte 495"));
  EXPECT_EQ(error_in(patched(stored.size() - 18, "01")), "m: a part of a divided archive");
}

TEST(ParseNpz, BelievesNoSize) {
  // The directory of `deflated` is at 0x115; its entries' sizes at + 24.
  EXPECT_EQ(error_in(patched(0x115 + 24, "ff ff ff 7f", deflated)),
            "it says that 88 bytes inflate to 2147483647: more than deflate can (in entry "
            "`w/b.npy` of m)");
  for (const char* size : {"97", "99"})
    EXPECT_EQ(error_in(patched(0x115 + 24, size, deflated)),
              "its compressed data are damaged (in entry `w/b.npy` of m)");
  // 65,536 entries of the archive, were its end record to be believed
  EXPECT_THAT(error_in(patched(stored.size() - 12, "fe ff")),
              HasSubstr("bytes expected where 0 are left"));
}

// One deflated entry `a.npy` that says it has `size` bytes.
ByteVector deflated_entry(std::span<const std::byte> content, std::uint64_t size) {
  ByteVector fields = hex("14 00 00 00 08 00 00 00 21 00 00 00 00 00") + little(content.size(), 4)
                      + little(size, 4) + hex("05 00 00 00");
  ByteVector name = bytes_of("a.npy");
  ByteVector local = hex("50 4b 03 04") + fields + name + content;
  ByteVector central = hex("50 4b 01 02 14 00") + fields + ByteVector(14) + name;
  return local + central + hex("50 4b 05 06 00 00 00 00 01 00 01 00") + little(central.size(), 4)
         + little(local.size(), 4) + hex("00 00");
}

TEST(ParseNpz, MemoryGrowsWithWhatThereIs) {
  auto most_memory = [] {  // in kB, so far
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  const ByteVector rubbish(std::size_t{1} << 20, std::byte{0xff});
  const ByteVector bomb = deflated_entry(rubbish, std::uint64_t{1031} << 20);
  const long before = most_memory();
  EXPECT_EQ(error_in(bomb), "its compressed data are damaged (in entry `a.npy` of m)");
  EXPECT_LT(most_memory() - before, 300'000) << "of 1,080,000 claimed";
}

TEST(ParseNpz, LargeEntriesComeOutWhole) {
  TemporaryFolder folder;
  Array large(Shape{5'000'000}, DType::i32);  // several chunks
  auto values = large.span<std::int32_t>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int32_t>(i / 3);
  write_npz(folder / "a.npz", {{"x", large}}, {.compress = true});
  EXPECT_TRUE(identical(read_npz(folder / "a.npz").at("x"), large));
}

TEST(ParseNpz, ReadsTheArraysAskedFor) {
  ByteVector strings = stored;  // x becomes an array of strings, with another checksum
  std::size_t type = 4 + text_of(strings).find("<i4");
  strings[type - 4 + 1] = std::byte{'U'};
  strings[type - 4 + 2] = std::byte{'1'};
  auto sum = crc32_z(0, reinterpret_cast<const Bytef*>(strings.data()) + 55, 0x84);
  ByteVector checksum = little(sum, 4);
  std::copy(checksum.begin(), checksum.end(), strings.begin() + directory + 16);
  EXPECT_EQ(
      error_in(strings),
      "x.npy: elements of type `<U1` cannot be read: strings have no type here; types that "
      "can be are f8 f4 f2 i8 i4 i2 i1 u4 u2 u1 b1 (to leave it out, name the arrays to read) "
      "(in entry `x.npy` of m)");
  Features only = parse_npz(strings, "m", {"y"});
  EXPECT_EQ(to_string(signature_of(only)), "y u8[]");
  EXPECT_EQ(only.at("y").item(), 9);
  EXPECT_EQ(to_string(signature_of(parse_npz(stored, "m", {"y", "x"}))), "x i32[], y u8[]");
  EXPECT_EQ(error_of([&] {
              parse_npz(stored, "m", {"y", "z"});
            }),
            "m: no array `z`; there are x, y");
  EXPECT_THAT(error_of([&] { parse_npz(strings, "m", {"x"}); }),
              HasSubstr("(it was asked for) (in entry `x.npy` of m)"));
}

TEST(ParseNpz, EntriesMayNotShareTheFile) {
  // Ten names for the 132 bytes of x
  ByteVector archive(stored.begin(), stored.begin() + second_entry);
  for (char name = 'a'; name <= 'j'; ++name) {
    auto entry = std::span(stored).subspan(directory, directory_entry);
    archive = std::move(archive) + entry;
    archive[archive.size() - 5] = static_cast<std::byte>(name);
  }
  archive = std::move(archive) + hex("50 4b 05 06 00 00 00 00 0a 00 0a 00")
            + little(10 * directory_entry, 4) + little(second_entry, 4) + hex("00 00");
  EXPECT_EQ(error_in(archive),
            "it overlaps with others, or the file is truncated (in entry `f.npy` of m)");
}

TEST(ParseNpz, AnyBytesGiveArraysOrAnError) {
  for (const ByteVector& whole : {stored, deflated})
    for_mutations(whole, 5'000, [](const ByteVector& bad) { error_in(bad); });
}

class WriteNpz : public ::testing::TestWithParam<bool> {
 protected:
  TemporaryFolder folder_;
  std::string path_ = folder_ / "a.npz";
  NpzOptions options_{.compress = GetParam()};
};

TEST_P(WriteNpz, ArraysComeBackInTheirOrder) {
  Array large(Shape{1000, 300}, DType::f32);
  for (std::size_t i = 0; i < 300'000; ++i) large.span<float>()[i] = static_cast<float>(i % 1000);
  Features arrays{{"z", Array::of<double>({1, 2, 3, 4}, {2, 2})},
                  {"conv1/kernel", large},
                  {"", Array::scalar<std::int32_t>(-1)},
                  {"caf\xc3\xa9", Array(Shape{0, 3}, DType::f16)},
                  {"flag", Array::of<bool>({true, false})}};
  write_npz(path_, arrays, options_);
  Features got = read_npz(path_);
  ASSERT_EQ(to_string(signature_of(got)), to_string(signature_of(arrays)));
  for (const auto& [name, array] : arrays) EXPECT_TRUE(identical(got.at(name), array)) << name;
  EXPECT_EQ(read_bytes(path_).size() < 1'000'000, GetParam());
  ByteVector before = read_bytes(path_);
  write_npz(path_, arrays, options_);
  EXPECT_EQ(read_bytes(path_), before);
}

TEST_P(WriteNpz, NamesBeyondAsciiAreMarkedAsUtf8) {
  auto flags_of = [&](const char* name) {
    write_npz(path_, {{name, Array::scalar(1.0f)}}, options_);
    ByteVector bytes = read_bytes(path_);
    return ByteVector(bytes.begin() + 6, bytes.begin() + 8);
  };
  EXPECT_EQ(flags_of("cafe"), hex("00 00"));
  EXPECT_EQ(flags_of("caf\xc3\xa9"), hex("00 08"));
}

TEST_P(WriteNpz, NoArraysAreAnEmptyArchive) {
  write_npz(path_, {}, options_);
  EXPECT_EQ(read_bytes(path_), hex("50 4b 05 06") + ByteVector(18));
}

TEST_P(WriteNpz, NamesTheArrayThatCannotBeWritten) {
  std::string end = " (writing array `a` to `" + path_ + "`)";
  EXPECT_EQ(error_of([&] {
              write_npz(path_, {{"a", Array(Shape{2}, DType::bf16)}}, options_);
            }),
            "NumPy has no type for bf16; cast to f32" + end);
  EXPECT_EQ(error_of([&] {
              write_npz(path_, {{"a", Array()}}, options_);
            }),
            "the array is undefined" + end);
  EXPECT_THAT(error_of([&] {
                write_npz(path_, {{std::string(65'532, 'n'), Array::scalar(1.0f)}}, options_);
              }),
              StartsWith("the name has 65532 bytes"));
  EXPECT_TRUE(folder_.names().empty());
}

INSTANTIATE_TEST_SUITE_P(Npz, WriteNpz, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "deflated" : "stored"; });

TEST(ReadNpz, NamesTheFile) {
  TemporaryFolder folder;
  EXPECT_THAT(error_of([&] { read_npz(folder / "none"); }),
              StartsWith("cannot read `" + folder / "none" + "`: No such file"));
  write_bytes(folder / "bad", bytes_of("rubbish"));
  EXPECT_THAT(error_of([&] { read_npz(folder / "bad"); }),
              StartsWith(folder / "bad" + ": not a ZIP"));
}

}  // namespace
}  // namespace belfry::data
