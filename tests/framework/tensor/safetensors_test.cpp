#include "belfry/framework/tensor/safetensors.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include <bit>
#include <filesystem>

#include "../base/temporary_folder.h"
#include "belfry/framework/base/crc32c.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;
using ::testing::StrEq;
using ::testing::ThrowsMessage;

/// A file with this header and this many bytes of data, 0, 1, 2, ...
std::string file_of(const std::string& json, std::size_t data_bytes = 0) {
  std::string out(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<char>(json.size() >> 8 * i);
  out += json;
  for (std::size_t i = 0; i < data_bytes; ++i) out += static_cast<char>(i);
  return out;
}

std::string tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                   const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + shape
         + "],\"data_offsets\":[" + offsets + "]}";
}

std::string checksum(std::string_view bytes) {
  char out[9];
  std::snprintf(out, sizeof out, "%08x", crc32c(std::as_bytes(std::span(bytes))));
  return out;
}

NamedArrays all_types() {
  return {{"f64", Array::of({1.5, -2.25})},
          {"f32", Array::of({1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}, {2, 3})},
          {"bf16", Array::of({0.5f, 3.0f, -1.0f}).cast(DType::bf16)},
          {"f16", Array::of({0.5f}).cast(DType::f16)},
          {"i64", Array::scalar(std::int64_t{-7})},
          {"i32", Array::of({1, -1, 1 << 30})},
          {"u8", Array::of<std::uint8_t>({1, 128, 255})},
          {"flags", Array::of({true, false, true})},
          {"none", Array({0, 4}, DType::f32)},
          {"scope/ünï", Array::scalar(8.0f)}};
}

const Metadata metadata{{"belfry.step", "1200"}, {"note", "line\nand \"quotes\""}};

void expect_equal(const NamedArrays& a, const NamedArrays& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, array] : a) {
    ASSERT_TRUE(b.contains(name)) << name;
    EXPECT_TRUE(identical(array, b.at(name))) << name;
  }
}

class SafetensorsTest : public ::testing::Test {
 protected:
  /// Error text of loading these bytes; the header-only scan must agree unless it is `data` that is
  /// wrong. Empty when they load.
  std::string error_of(const std::string& bytes) {
    write(bytes);
    try {
      load_safetensors(path);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }
  std::string error_of_header(const std::string& json, std::size_t data_bytes = 0) {
    std::string error = error_of(file_of(json, data_bytes));
    try {
      read_safetensors_header(path);
      EXPECT_EQ(error, "");
    } catch (const Error& header_error) {
      EXPECT_EQ(error, header_error.what());
    }
    EXPECT_THAT(error, EndsWith(" (in `" + path + "`)"));
    return error.substr(0, error.rfind(" (in "));
  }

  /// Without the sync of write_file_atomically(): there are many files to write.
  void write(const std::string& bytes) {
    std::filesystem::remove(path);  // some file systems sync a file that is truncated
    std::FILE* file = std::fopen(path.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
    EXPECT_EQ(std::fclose(file), 0);
  }

  TemporaryFolder folder;
  std::string path = folder / "model.safetensors";
};

TEST_F(SafetensorsTest, AllTypesShapesAndMetadataComeBack) {
  save_safetensors(path, all_types(), metadata);
  Safetensors loaded = load_safetensors(path);
  expect_equal(all_types(), loaded.tensors);
  EXPECT_THAT(loaded.metadata, ElementsAre(Pair("belfry.step", "1200"), Pair("format", "pt"),
                                           Pair("note", "line\nand \"quotes\"")));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(loaded.tensors.at("f32").raw()) % 64, 0u);
}

TEST_F(SafetensorsTest, LoadedContentsCanBeSavedAgainToTheSameBytes) {
  save_safetensors(path, all_types(), metadata);
  Safetensors loaded = load_safetensors(path);
  save_safetensors(folder / "again", loaded.tensors, loaded.metadata);
  EXPECT_EQ(read_file(path), read_file(folder / "again"));
}

TEST_F(SafetensorsTest, TheBytesAreThoseOfTheFormat) {
  save_safetensors(path, {{"b", Array::of<std::uint8_t>({1, 2, 3})}, {"a", Array::scalar(1.0f)}},
                   {{"format", "np"}});
  std::string data = std::string("\x00\x00\x80\x3f", 4) + "\x01\x02\x03";
  std::string tensors =
      "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
      "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[4,7]}}";
  std::string unmarked = "{\"__metadata__\":{\"format\":\"np\"}," + tensors;
  std::string json = "{\"__metadata__\":{\"belfry.crc32c\":\"" + checksum(data)
                     + "\",\"belfry.header_crc32c\":\"" + checksum(unmarked)
                     + "\",\"format\":\"np\"}," + tensors;
  json.resize((json.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(read_file(path), file_of(json) + data);
}

TEST_F(SafetensorsTest, LargerTypesComeFirstThenNames) {
  save_safetensors(path, all_types());
  std::string bytes = read_file(path);
  std::size_t last = 0;
  for (const char* name :
       {"i64", "f64", "f32", "none", "scope/ünï", "i32", "bf16", "f16", "u8", "flags"}) {
    std::size_t at = bytes.find("\"" + std::string(name) + "\":");
    ASSERT_NE(at, std::string::npos) << name;
    EXPECT_GT(at, last) << name;
    last = at;
  }
  EXPECT_EQ(static_cast<unsigned char>(bytes[0]) % 8, 0);
}

TEST_F(SafetensorsTest, NoTensorsAtAllIsAFileToo) {
  save_safetensors(path, {});
  EXPECT_TRUE(load_safetensors(path).tensors.empty());
  EXPECT_EQ(error_of(file_of("{}")), "");
}

TEST_F(SafetensorsTest, TheHeaderAloneGivesNamesTypesAndMetadata) {
  save_safetensors(path, all_types(), metadata);
  SafetensorsHeader header = read_safetensors_header(path);
  EXPECT_EQ(header.tensors.size(), all_types().size());
  for (const auto& [name, array] : all_types()) EXPECT_EQ(header.tensors.at(name), array.type());
  EXPECT_EQ(header.metadata, load_safetensors(path).metadata);
}

TEST_F(SafetensorsTest, ReadsWhatOtherProgramsWrite) {
  // No padding, no metadata, any order of names and fields, an empty tensor between two others.
  write_file_atomically(
      path, file_of("{\"z\":{\"data_offsets\":[0,2],\"shape\":[2],\"dtype\":\"U8\"},"
                        + tensor("a", "U8", "1,1,1", "2,3") + "," + tensor("e", "I64", "0,7", "2,2")
                        + "}",
                    3));
  Safetensors loaded = load_safetensors(path);
  expect_equal(loaded.tensors, {{"z", Array::of<std::uint8_t>({0, 1})},
                                {"a", Array::of<std::uint8_t>({2}, {1, 1, 1})},
                                {"e", Array({0, 7}, DType::i64)}});
  EXPECT_TRUE(loaded.metadata.empty());
  // Names are not paths, and escapes mean what JSON says.
  write_file_atomically(path, file_of("{" + tensor("../a/\\u00e9", "U8", "", "0,1") + "}  \n", 1));
  EXPECT_TRUE(load_safetensors(path).tensors.contains("../a/é"));
}

TEST_F(SafetensorsTest, SavingRefusesWhatItCouldNotReadBack) {
  Array x = Array::scalar(1.0f);
  auto error = [&](const NamedArrays& tensors, const Metadata& entries) -> std::string {
    try {
      save_safetensors(path, tensors, entries);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  std::string where = " (saving `" + path + "`)";
  EXPECT_EQ(error({{"x", Array()}}, {}), "tensor `x` is undefined" + where);
  EXPECT_EQ(error({{"__metadata__", x}}, {}), "a tensor cannot be called __metadata__" + where);
  EXPECT_EQ(error({{"a\nb", x}}, {}), "the name `a?b` contains a control character" + where);
  EXPECT_THAT(error({{std::string(4097, 'n'), x}}, {}),
              HasSubstr("...` is 4097 bytes long; at most 4096 are allowed"));
  EXPECT_EQ(error({{std::string(4096, 'n'), x}}, {}), "");
  EXPECT_THAT(error({{"\xff", x}}, {}), HasSubstr("is not valid UTF-8"));
  EXPECT_THAT(error({}, {{"k", "\xc3"}}), HasSubstr("is not valid UTF-8"));
  EXPECT_EQ(error({}, {{"belfry.crc32c", "0"}}),
            "the metadata key `belfry.crc32c` is reserved" + where);
  EXPECT_THAT(error({}, {{"k", std::string(100'000'000, 'v')}}),
              HasSubstr("names and metadata take 1000001"));
  Array flags = Array::of<bool>({true, true});
  flags.raw_bytes()[1] = std::byte{2};
  EXPECT_EQ(error({{"flags", flags}}, {}),
            "tensor `flags`: element 1 of type BOOL is 2; expected 0 or 1" + where);
}

TEST_F(SafetensorsTest, AFailedSaveLeavesTheOldFile) {
  save_safetensors(path, all_types(), metadata);
  std::string before = read_file(path);
  rlimit unlimited{};
  ::getrlimit(RLIMIT_FSIZE, &unlimited);
  rlimit limit = unlimited;
  limit.rlim_cur = 100'000;
  auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_THAT(
      [&] {
        save_safetensors(path, {{"large", Array::zeros({100'000})}});
      },
      ThrowsMessage<Error>(StartsWith("cannot write `" + path + "`: File too large; ")));
  ::setrlimit(RLIMIT_FSIZE, &unlimited);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_file(path), before);
  EXPECT_THAT(folder.names(), ElementsAre("model.safetensors"));
}

TEST_F(SafetensorsTest, AMissingFileIsAnError) {
  EXPECT_THAT(
      [&] { load_safetensors(path); },
      ThrowsMessage<Error>(StartsWith("cannot read `" + path + "`: No such file or directory; ")));
}

// ---- Bad files, one by one

TEST_F(SafetensorsTest, RefusesLengthsThatCannotBe) {
  for (std::size_t size = 0; size < 8; ++size)
    EXPECT_THAT(
        error_of(std::string(size, '\x08')),
        StartsWith(concat("the file has ", size, " bytes; a header's length alone takes 8")));
  auto with_length = [](std::uint64_t length) {
    return std::string(std::bit_cast<std::array<char, 8>>(length).data(), 8) + "{}";
  };
  EXPECT_THAT(error_of(with_length(0)), StartsWith("the header at byte 8 must start with `{`"));
  EXPECT_THAT(error_of(with_length(1)), StartsWith("the header is not valid JSON at byte 9"));
  EXPECT_THAT(
      error_of(with_length(3)),
      StartsWith("the header ends at byte 11, but the file has 10 bytes; was it cut short?"));
  for (std::uint64_t length : {std::uint64_t{100'000'001}, std::uint64_t{1} << 31,
                               std::uint64_t{1} << 63, ~std::uint64_t{0}, ~std::uint64_t{0} - 8})
    EXPECT_THAT(error_of(with_length(length)),
                StartsWith(concat("the header's length at byte 0 is ", length,
                                  "; at most 100000000 are allowed: this is no safetensors file")));
}

TEST_F(SafetensorsTest, TheLongestHeaderAllowedIsRead) {
  write(file_of("{}" + std::string(99'999'998, ' ')));
  EXPECT_TRUE(load_safetensors(path).tensors.empty());
}

TEST_F(SafetensorsTest, RefusesHeadersThatAreNotOneObject) {
  EXPECT_EQ(error_of_header(" {}"), "the header at byte 8 must start with `{`");
  EXPECT_EQ(error_of_header("[]"), "the header at byte 8 must start with `{`");
  EXPECT_EQ(error_of_header("\xef\xbb\xbf{}"), "the header at byte 8 must start with `{`");
  EXPECT_EQ(error_of_header("{}x"), "the header is not valid JSON at byte 10");
  EXPECT_EQ(error_of_header("{}{}"), "the header is not valid JSON at byte 10");
  EXPECT_EQ(error_of_header("{"), "the header is not valid JSON at byte 9");
  EXPECT_EQ(error_of_header("{/**/}"), "the header is not valid JSON at byte 9");
  EXPECT_EQ(error_of_header("{\"a"), "the header is not valid JSON at byte 11");
  EXPECT_EQ(error_of_header("{\"a\xff\":1}"), "the header is not valid JSON at byte 11");
  EXPECT_EQ(error_of_header("{\"a\n\":1}"), "the header is not valid JSON at byte 11");
  EXPECT_EQ(error_of_header(std::string("{}\0 ", 4)), "the header has a zero byte at byte 10");
  EXPECT_EQ(error_of_header(std::string("{\"a\0\":{}}", 9)),
            "the header has a zero byte at byte 11");
}

TEST_F(SafetensorsTest, RefusesValuesOfTheWrongKind) {
  EXPECT_EQ(error_of_header("{\"w\":1}"), "`w` must be an object, found 1");
  EXPECT_EQ(error_of_header("{\"w\":[]}"), "`w` must be an object, found a list");
  EXPECT_EQ(error_of_header("{\"w\":null}"), "`w` must be an object, found null");
  EXPECT_EQ(error_of_header("{\"w\":{\"dtype\":true}}"),
            "tensor `w`: dtype must be a string, found true");
  EXPECT_EQ(error_of_header("{\"w\":{\"shape\":\"2\"}}"),
            "tensor `w`: shape must be a list of numbers, found the string `2`");
  EXPECT_EQ(error_of_header("{\"w\":{\"shape\":{}}}"),
            "tensor `w`: shape must be a list of numbers, found an object");
  EXPECT_EQ(error_of_header("{\"w\":{\"shape\":[[2]]}}"),
            "tensor `w`: shape must hold whole numbers that are not negative, found a list");
  EXPECT_EQ(error_of_header("{\"w\":{\"data_offsets\":[\"0\",1]}}"),
            "tensor `w`: data_offsets must hold whole numbers that are not negative, found the "
            "string `0`");
  EXPECT_EQ(error_of_header("{\"__metadata__\":[]}"),
            "`__metadata__` must be an object, found a list");
  EXPECT_EQ(error_of_header("{\"__metadata__\":{\"step\":3}}"),
            "metadata `step` must be a string, found 3");
  EXPECT_EQ(error_of_header("{\"__metadata__\":{\"a\":{\"b\":{}}}}"),
            "metadata `a` must be a string, found an object");
}

TEST_F(SafetensorsTest, RefusesDeepNestingWithoutFollowingIt) {
  std::string deep = "{\"w\":{\"shape\":" + std::string(1'000'000, '[');
  EXPECT_EQ(error_of_header(deep),
            "tensor `w`: shape must hold whole numbers that are not negative, found a list");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(error_of_header(objects),
            "tensor `a`: unknown field `a`; expected dtype, shape and "
            "data_offsets");
}

TEST_F(SafetensorsTest, RefusesWhatAppearsTwiceOrNotAtAll) {
  std::string w = tensor("w", "U8", "1", "0,1");
  EXPECT_EQ(error_of_header("{" + w + "," + w + "}", 1), "the name `w` appears twice");
  EXPECT_EQ(error_of_header("{" + w + ",\"\\u0077\":{}}", 1), "the name `w` appears twice");
  EXPECT_EQ(error_of_header("{\"__metadata__\":{},\"__metadata__\":{}}"),
            "the name `__metadata__` appears twice");
  EXPECT_EQ(error_of_header("{\"__metadata__\":{\"k\":\"1\",\"k\":\"1\"}}"),
            "metadata `k` appears twice");
  EXPECT_EQ(error_of_header("{\"w\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}"),
            "tensor `w`: the field dtype appears twice");
  EXPECT_EQ(error_of_header("{\"w\":{\"shape\":[],\"data_offsets\":[0,1]}}", 1),
            "tensor `w`: the field dtype is missing");
  EXPECT_EQ(error_of_header("{\"w\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1),
            "tensor `w`: the field shape is missing");
  EXPECT_EQ(error_of_header("{\"w\":{\"dtype\":\"U8\",\"shape\":[]}}", 1),
            "tensor `w`: the field data_offsets is missing");
  EXPECT_EQ(error_of_header("{\"w\":{\"dtype\":\"U8\",\"shape\":[],\"offsets\":[0,1]}}", 1),
            "tensor `w`: unknown field `offsets`; expected dtype, shape and data_offsets");
  for (const char* offsets : {"", "0"})
    EXPECT_THAT(error_of_header("{" + tensor("w", "U8", "", offsets) + "}", 1),
                HasSubstr("numbers; expected begin and end"));
  EXPECT_EQ(error_of_header("{" + tensor("w", "U8", "", "0,1,1") + "}", 1),
            "tensor `w`: data_offsets has more than 2 numbers; expected begin and end");
}

TEST_F(SafetensorsTest, RefusesTypesThatAreNotBelfrys) {
  for (const char* name : {"F8_E4M3", "F4", "F6_E2M3", "I8", "U16", "C64", "f32", "F32 ", ""})
    EXPECT_EQ(error_of_header("{" + tensor("w", name, "2", "0,2") + "}", 2),
              concat("unknown dtype `", name,
                     "`; expected one of I64, F64, F32, I32, BF16, F16, U8, BOOL (tensor `w`)"));
}

TEST_F(SafetensorsTest, RefusesNumbersThatAreNotSizes) {
  struct Case {
    const char* number;
    const char* error;
  };
  for (Case c : {Case{"-1",
                      "tensor `w`: shape must hold whole numbers that are not negative, "
                      "found -1"},
                 Case{"-0",
                      "tensor `w`: shape must hold whole numbers that are not negative, "
                      "found 0"},
                 Case{"1.0",
                      "tensor `w`: shape must hold whole numbers that are not negative, "
                      "found `1.0`"},
                 Case{"1e3",
                      "tensor `w`: shape must hold whole numbers that are not negative, "
                      "found `1e3`"},
                 Case{"18446744073709551616",
                      "tensor `w`: shape must hold whole numbers that are "
                      "not negative, found `18446744073709551616`"},
                 Case{"9223372036854775808",
                      "tensor `w`: axis 0 of shape has the size "
                      "9223372036854775808, more than 64 bits with a sign "
                      "can hold"},
                 Case{"4611686018427387904",
                      "shape: more elements than a 64-bit count of bytes "
                      "can hold (tensor `w`)"},
                 Case{"4294967296,4294967296",
                      "shape: more elements than a 64-bit count of bytes "
                      "can hold (tensor `w`)"},
                 Case{"1,1,1,1,1,1,1,1,1", "tensor `w`: shape has more than 8 axes"},
                 Case{"500000000000000000",
                      "tensor `w`: f32[500000000000000000] takes "
                      "2000000000000000000 bytes, but data_offsets [0, 4] "
                      "span 4"}})
    EXPECT_EQ(error_of_header("{" + tensor("w", "F32", c.number, "0,4") + "}", 4), c.error);
  for (const char* number : {"01", "+1", "0x1", "1e", "1e999", "NaN", "1,"})
    EXPECT_THAT(error_of_header("{" + tensor("w", "F32", number, "0,4") + "}", 4),
                StartsWith("the header is not valid JSON at byte "))
        << number;
}

TEST_F(SafetensorsTest, RefusesDataThatIsNotTiledExactly) {
  auto error = [&](const std::string& a, const std::string& b, std::size_t bytes) {
    return error_of_header("{" + tensor("a", "U8", "4", a) + "," + tensor("b", "U8", "4", b) + "}",
                           bytes);
  };
  EXPECT_EQ(error("0,4", "5,9", 9),
            "tensor `b`: bytes 4 to 5 of the data, before it, belong to no tensor");
  EXPECT_EQ(error("1,5", "5,9", 9),
            "tensor `a`: bytes 0 to 1 of the data, before it, belong to no tensor");
  EXPECT_EQ(error("0,4", "3,7", 7), "tensor `b`: its data starts at 3, within `a` that ends at 4");
  EXPECT_EQ(error("0,4", "0,4", 4), "tensor `b`: its data starts at 0, within `a` that ends at 4");
  EXPECT_EQ(error("0,4", "4,8", 9), "the tensors cover 8 bytes of data, but the file holds 9");
  EXPECT_EQ(error("0,4", "4,8", 7),
            "tensor `b`: its data ends at 8, but the file holds 7 bytes of "
            "data; was it cut short?");
  EXPECT_EQ(error("4,0", "4,8", 8), "tensor `a`: data_offsets end at 0, before their begin 4");
  EXPECT_EQ(error("0,3", "3,7", 7),
            "tensor `a`: u8[4] takes 4 bytes, but data_offsets [0, 3] span 3");
  EXPECT_EQ(error("18446744073709551612,18446744073709551615", "0,4", 4),
            "tensor `a`: u8[4] takes 4 bytes, but data_offsets [18446744073709551612, "
            "18446744073709551615] span 3");
  EXPECT_EQ(error("18446744073709551611,18446744073709551615", "0,4", 4),
            "tensor `a`: bytes 4 to 18446744073709551611 of the data, before it, belong to no "
            "tensor");
  // An empty tensor has a place too.
  EXPECT_EQ(error_of_header(
                "{" + tensor("a", "U8", "4", "0,4") + "," + tensor("e", "U8", "0", "2,2") + "}", 4),
            "tensor `e`: its data starts at 2, within `a` that ends at 4");
  EXPECT_EQ(error_of_header("{}", 1), "the tensors cover 0 bytes of data, but the file holds 1");
}

TEST_F(SafetensorsTest, RefusesABooleanThatIsNeitherZeroNorOne) {
  EXPECT_THAT(error_of(file_of("{" + tensor("w", "BOOL", "3", "0,3") + "}", 3)),
              StartsWith("tensor `w`: element 2 of type BOOL is 2; expected 0 or 1 (in `"));
  EXPECT_EQ(error_of(file_of("{" + tensor("w", "BOOL", "2", "0,2") + "}", 2)), "");
}

TEST_F(SafetensorsTest, RefusesNamesThatWouldGarbleALog) {
  EXPECT_EQ(error_of_header("{" + tensor("a\\u001bb", "U8", "", "0,1") + "}", 1),
            "the name `a?b` contains a control character");
  EXPECT_EQ(error_of_header("{" + tensor("a\\u0000", "U8", "", "0,1") + "}", 1),
            "the name `a?` contains a control character");
  EXPECT_EQ(
      error_of_header("{" + tensor(std::string(5000, 'n'), "U8", "", "0,1") + "}", 1),
      "the name `" + std::string(80, 'n') + "...` is 5000 bytes long; at most 4096 are allowed");
  std::string accents;
  for (int i = 0; i < 3000; ++i) accents += "é";
  EXPECT_THAT(error_of_header("{" + tensor("x" + accents, "U8", "", "0,1") + "}", 1),
              StartsWith("the name `x" + accents.substr(0, 78) + "...` is 6001 bytes long"));
  EXPECT_THAT(error_of_header("{\"__metadata__\":{\"a\\n\":\"\"}}"),
              StartsWith("the metadata key `a?` contains a control character"));
}

TEST_F(SafetensorsTest, AMillionTensorsAreReadAndOneMoreIsRefused) {
  std::string json = "{";
  for (int i = 0; i < 1'000'000; ++i)
    json += (i ? "," : "") + tensor(std::to_string(i), "U8", "0", "0,0");
  write(file_of(json + "}"));
  EXPECT_EQ(read_safetensors_header(path).tensors.size(), 1'000'000u);
  write(file_of(json + "," + tensor("x", "U8", "0", "0,0") + "}"));
  EXPECT_THAT([&] { read_safetensors_header(path); },
              ThrowsMessage<Error>(StartsWith("the header names more than 1000000 tensors")));
}

// ---- Damage to a good file

TEST_F(SafetensorsTest, ChecksumsThatDisagreeAreErrors) {
  save_safetensors(path, {{"w", Array::of({1.0f, 2.0f})}}, {{"belfry.step", "5"}});
  std::string good = read_file(path);
  auto replaced = [&](const std::string& from, const std::string& to) {
    std::string out = good;
    return out.replace(out.find(from), from.size(), to);
  };
  std::string bad_data = good;
  bad_data.back() ^= 1;
  EXPECT_THAT(
      error_of(bad_data),
      AllOf(StartsWith("the checksum of the data is "),
            HasSubstr("expected `" + checksum(std::string_view(good).substr(good.size() - 8))
                      + "`: the file is damaged")));
  EXPECT_NO_THROW(read_safetensors_header(path));  // it reads no data
  EXPECT_THAT(error_of(replaced("\"w\"", "\"v\"")), StartsWith("the checksum of the header is "));
  EXPECT_THAT(error_of(replaced("F32", "I32")), StartsWith("the checksum of the header is "));
  EXPECT_THAT(error_of(replaced(":\"5\"", ":\"6\"")), StartsWith("the checksum of the header is "));
  EXPECT_THAT(error_of(replaced("belfry.crc32c", "celfry.crc32c")),
              StartsWith("the metadata has `belfry.header_crc32c` but no `belfry.crc32c`: the file "
                         "is damaged"));
  EXPECT_THAT(error_of(replaced("header_crc", "heater_crc")),
              StartsWith("the metadata has `belfry.crc32c` but no `belfry.header_crc32c`"));
  // White space does not matter: another program may write the header in its own way.
  EXPECT_EQ(
      error_of(file_of("{ " + good.substr(9, good.size() - 17)) + good.substr(good.size() - 8)),
      "");
}

/// The outcome of loading damaged bytes: an Error that names the file, or the same content.
class Damage : public SafetensorsTest {
 protected:
  Damage() {
    save_safetensors(path, all_types(), metadata);
    good = read_file(path);
    content = load_safetensors(path);
  }

  void check(const std::string& bytes, const std::string& what) {
    write(bytes);
    try {
      Safetensors loaded = load_safetensors(path);
      ++harmless;
      SCOPED_TRACE(what);
      EXPECT_EQ(loaded.metadata, content.metadata);
      expect_equal(content.tensors, loaded.tensors);
    } catch (const Error& error) {
      ++refused;
      EXPECT_THAT(error.what(), HasSubstr("`" + path + "`")) << what;
    }
  }

  std::string good;
  Safetensors content;
  int refused = 0;
  int harmless = 0;
};

TEST_F(Damage, EveryFlippedBitIsFound) {
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    check(bytes, concat("bit ", bit));
  }
  EXPECT_EQ(harmless, 0);
}

TEST_F(Damage, EveryTruncationIsFound) {
  for (std::size_t size = 0; size < good.size(); ++size)
    check(good.substr(0, size), concat("size ", size));
  EXPECT_EQ(harmless, 0);
}

TEST_F(Damage, TwoThousandRandomMutationsGiveAnErrorOrTheSameContent) {
  std::size_t header_bytes =
      static_cast<unsigned char>(good[0]) + 256u * static_cast<unsigned char>(good[1]);
  PhiloxStream random(philox_key(20, "damage"));
  auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random.below(bound)); };
  const std::vector<std::string> numbers{"0",
                                         "1",
                                         "-1",
                                         "2",
                                         "00",
                                         "1e9",
                                         "0.5",
                                         "4294967295",
                                         "9223372036854775807",
                                         "9223372036854775808",
                                         "18446744073709551615",
                                         "18446744073709551616",
                                         "[]",
                                         "null",
                                         "\"\""};
  for (int i = 0; i < 2000; ++i) {
    std::string bytes = good;
    int times = 1 + static_cast<int>(below(3));
    for (int t = 0; t < times && !bytes.empty(); ++t) {
      std::size_t at = below(bytes.size());
      std::size_t length = std::min(below(64), bytes.size() - at);
      switch (below(7)) {
        case 0:  // flip a bit
          bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(8));
          break;
        case 1:  // cut the end
          bytes.resize(at);
          break;
        case 2:  // insert
          bytes.insert(at, length, static_cast<char>(below(256)));
          break;
        case 3:  // remove from the middle
          bytes.erase(at, length);
          break;
        case 4:  // overwrite with bytes from elsewhere
          bytes.replace(at, length, good.substr(below(good.size()), length));
          break;
        case 5: {  // swap two ranges
          std::size_t other = below(bytes.size());
          length = std::min({length, bytes.size() - at, bytes.size() - other});
          if (at + length <= other || other + length <= at)
            std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                             bytes.begin() + static_cast<std::ptrdiff_t>(at + length),
                             bytes.begin() + static_cast<std::ptrdiff_t>(other));
          break;
        }
        default: {  // put another number into the header
          std::size_t digit = bytes.find_first_of("0123456789", 8 + below(header_bytes));
          if (digit == std::string::npos) break;
          std::size_t end = bytes.find_first_not_of("0123456789", digit);
          bytes.replace(digit, std::min(end, bytes.size()) - digit, numbers[below(numbers.size())]);
        }
      }
    }
    check(bytes, concat("mutation ", i));
  }
  EXPECT_GT(refused, 1900);
}

// Without checksums damage to the data cannot be seen, but it must not crash either.
TEST_F(Damage, FilesOfOtherProgramsNeverCrashTheLoader) {
  std::string plain = file_of("{\"__metadata__\":{\"k\":\"v\"}," + tensor("a", "F32", "2,2", "0,16")
                                  + "," + tensor("b", "BOOL", "2", "16,18") + "}",
                              16)
                      + std::string("\0\1", 2);
  write(plain);
  EXPECT_NO_THROW(load_safetensors(path));
  PhiloxStream random(philox_key(21, "damage"));
  int loaded = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = plain;
    for (int t = 0; t < 2; ++t) {
      auto bit = random.below(8 * bytes.size());
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    }
    write(bytes);
    try {
      loaded += load_safetensors(path).tensors.size() == 2;
    } catch (const Error& error) {
      ++refused;
      EXPECT_THAT(error.what(), HasSubstr(path));
    }
  }
  EXPECT_GT(loaded, 0);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace belfry
