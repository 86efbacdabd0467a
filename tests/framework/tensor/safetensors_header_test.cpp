// Bad headers, one by one, as load_safetensors() and read_safetensors_header() refuse them.
#include "belfry/framework/tensor/safetensors_header.h"

#include <gmock/gmock.h>

#include <array>
#include <bit>

#include "safetensors_files.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

using SafetensorsHeaderTest = SafetensorsTest;

TEST_F(SafetensorsHeaderTest, RefusesLengthsThatCannotBe) {
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

TEST_F(SafetensorsHeaderTest, TheLongestHeaderAllowedIsRead) {
  write(file_of("{}" + std::string(99'999'998, ' ')));
  EXPECT_TRUE(load_safetensors(path).tensors.empty());
}

TEST_F(SafetensorsHeaderTest, RefusesHeadersThatAreNotOneObject) {
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

TEST_F(SafetensorsHeaderTest, RefusesValuesOfTheWrongKind) {
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

TEST_F(SafetensorsHeaderTest, RefusesDeepNestingWithoutFollowingIt) {
  std::string deep = "{\"w\":{\"shape\":" + std::string(1'000'000, '[');
  EXPECT_EQ(error_of_header(deep),
            "tensor `w`: shape must hold whole numbers that are not negative, found a list");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(error_of_header(objects),
            "tensor `a`: unknown field `a`; expected dtype, shape and "
            "data_offsets");
}

TEST_F(SafetensorsHeaderTest, RefusesWhatAppearsTwiceOrNotAtAll) {
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

TEST_F(SafetensorsHeaderTest, RefusesTypesThatAreNotBelfrys) {
  for (const char* name : {"F8_E4M3", "F4", "F6_E2M3", "I8", "U16", "C64", "f32", "F32 ", ""})
    EXPECT_EQ(error_of_header("{" + tensor("w", name, "2", "0,2") + "}", 2),
              concat("unknown dtype `", name,
                     "`; expected one of I64, F64, F32, I32, BF16, F16, U8, BOOL (tensor `w`)"));
}

TEST_F(SafetensorsHeaderTest, RefusesNumbersThatAreNotSizes) {
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

TEST_F(SafetensorsHeaderTest, RefusesDataThatIsNotTiledExactly) {
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

TEST_F(SafetensorsHeaderTest, RefusesABooleanThatIsNeitherZeroNorOne) {
  EXPECT_THAT(error_of(file_of("{" + tensor("w", "BOOL", "3", "0,3") + "}", 3)),
              StartsWith("tensor `w`: element 2 of type BOOL is 2; expected 0 or 1 (in `"));
  EXPECT_EQ(error_of(file_of("{" + tensor("w", "BOOL", "2", "0,2") + "}", 2)), "");
}

TEST_F(SafetensorsHeaderTest, RefusesNamesThatWouldGarbleALog) {
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

TEST_F(SafetensorsHeaderTest, AMillionTensorsAreReadAndOneMoreIsRefused) {
  std::string json = "{";
  for (int i = 0; i < 1'000'000; ++i)
    json += (i ? "," : "") + tensor(std::to_string(i), "U8", "0", "0,0");
  write(file_of(json + "}"));
  EXPECT_EQ(read_safetensors_header(path).tensors.size(), 1'000'000u);
  write(file_of(json + "," + tensor("x", "U8", "0", "0,0") + "}"));
  EXPECT_THAT([&] { read_safetensors_header(path); },
              ThrowsMessage<Error>(StartsWith("the header names more than 1000000 tensors")));
}

}  // namespace
}  // namespace belfry
