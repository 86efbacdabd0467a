#pragma once
// Bad safetensors files, made by hand, and what their reader says of each.

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace belfry {

/// A file with this header and this many bytes of data, 0, 1, 2, ...
inline std::string file_of(const std::string& json, std::size_t data_bytes = 0) {
  std::string out(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<char>(json.size() >> 8 * i);
  out += json;
  for (std::size_t i = 0; i < data_bytes; ++i) out += static_cast<char>(i);
  return out;
}

inline std::string tensor(const std::string& name, const std::string& dtype,
                          const std::string& shape, const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + shape
         + "],\"data_offsets\":[" + offsets + "]}";
}

struct BadFile {
  std::string bytes;
  std::string message;    ///< a piece of the error
  bool in_header = true;  ///< whether the header alone tells
};

inline void add_bad_lengths(std::vector<BadFile>& to) {
  for (std::size_t size = 0; size < 8; ++size)
    to.push_back({std::string(size, '\x08'), "the file has " + std::to_string(size)
                                                 + " bytes; a header's length alone takes"});
  auto with_length = [&](std::uint64_t length, const std::string& message) {
    to.push_back(
        {std::string(std::bit_cast<std::array<char, 8>>(length).data(), 8) + "{}", message});
  };
  with_length(0, "the header at byte 8 must start with `{`");
  with_length(1, "the header is not valid JSON at byte 9");
  with_length(3, "the header ends at byte 11, but the file has 10 bytes; was it cut short?");
  with_length(100'000'000, "the header ends at byte 100000008, but the file has 10 bytes");
  for (std::uint64_t length :
       {std::uint64_t{100'000'001}, std::uint64_t{1} << 31, std::uint64_t{1} << 32,
        (std::uint64_t{1} << 63) - 1, std::uint64_t{1} << 63, ~std::uint64_t{0} - 8,
        ~std::uint64_t{0} - 7, ~std::uint64_t{0}})
    with_length(length, "the header's length at byte 0 is " + std::to_string(length)
                            + "; at most 100000000 are allowed: this is no safetensors file");
}

inline void add_bad_texts(std::vector<BadFile>& to) {
  auto bad = [&](const std::string& json, const std::string& message) {
    to.push_back({file_of(json), message});
  };
  for (const char* json : {" {}", "[]", "\xef\xbb\xbf{}", "\"{}\"", "null", "\n{}"})
    bad(json, "the header at byte 8 must start with `{`");
  bad("{}x", "the header is not valid JSON at byte 10");
  bad("{}{}", "the header is not valid JSON at byte 10");
  bad("{", "the header is not valid JSON at byte 9");
  bad("{/**/}", "the header is not valid JSON at byte 9");
  bad("{,}", "the header is not valid JSON at byte 9");
  bad("{'a':{}}", "the header is not valid JSON at byte 9");
  bad("{a:{}}", "the header is not valid JSON at byte 9");
  bad("{\"a", "the header is not valid JSON at byte 11");
  bad("{\"a\"}", "the header is not valid JSON at byte 12");
  bad("{\"a\":", "the header is not valid JSON at byte 13");
  bad("{\"__metadata__\":{},}", "the header is not valid JSON at byte 27");
  bad("{\"a\n\":1}", "the header is not valid JSON at byte 11");
  bad(std::string("{}\0 ", 4), "the header has a zero byte at byte 10");
  bad(std::string("{\"a\0\":{}}", 9), "the header has a zero byte at byte 11");
  // Not UTF-8: a byte that never occurs, a lone continuation, a cut character, an overlong slash, a
  // surrogate, a place beyond 10FFFF; then escapes of half a pair.
  bad("{\"a\xff\":1}", "the header is not valid JSON at byte 11");
  bad("{\"a\x80\":1}", "the header is not valid JSON at byte 11");
  bad("{\"a\xc3\":1}", "the header is not valid JSON at byte 12");
  bad("{\"a\xc0\xaf\":1}", "the header is not valid JSON at byte 11");
  bad("{\"a\xed\xa0\x80\":1}", "the header is not valid JSON at byte 12");
  bad("{\"a\xf4\x90\x80\x80\":1}", "the header is not valid JSON at byte 12");
  bad("{\"a\\ud800\":1}", "the header is not valid JSON at byte 17");
  bad("{\"a\\udc00\":1}", "the header is not valid JSON at byte 16");
  bad("{\"__metadata__\":{\"k\":\"\xff\"}}", "the header is not valid JSON at byte 30");
}

inline void add_bad_values(std::vector<BadFile>& to) {
  auto bad = [&](const std::string& json, const std::string& message) {
    to.push_back({file_of(json), message});
  };
  const std::string whole = " must hold whole numbers that are not negative, found ";
  bad("{\"w\":1}", "`w` must be an object, found 1");
  bad("{\"w\":[]}", "`w` must be an object, found a list");
  bad("{\"w\":null}", "`w` must be an object, found null");
  bad("{\"w\":\"F32\"}", "`w` must be an object, found the string `F32`");
  bad("{\"w\":{}}", "tensor `w`: the field dtype is missing");
  bad("{\"w\":{\"dtype\":true}}", "tensor `w`: dtype must be a string, found true");
  bad("{\"w\":{\"dtype\":[\"F32\"]}}", "tensor `w`: dtype must be a string, found a list");
  bad("{\"w\":{\"shape\":\"2\"}}", "shape must be a list of numbers, found the string `2`");
  bad("{\"w\":{\"shape\":null}}", "shape must be a list of numbers, found null");
  bad("{\"w\":{\"shape\":{}}}", "shape must be a list of numbers, found an object");
  bad("{\"w\":{\"shape\":[[2]]}}", "tensor `w`: shape" + whole + "a list");
  bad("{\"w\":{\"shape\":[{}]}}", "tensor `w`: shape" + whole + "an object");
  bad("{\"w\":{\"shape\":[null]}}", "tensor `w`: shape" + whole + "null");
  bad("{\"w\":{\"data_offsets\":4}}", "data_offsets must be a list of numbers, found 4");
  bad("{\"w\":{\"data_offsets\":[\"0\",1]}}",
      "tensor `w`: data_offsets" + whole + "the string `0`");
  bad("{\"w\":{\"data_offsets\":[-1,1]}}", "tensor `w`: data_offsets" + whole + "-1");
  bad("{\"w\":{\"data_offsets\":[0,1.0]}}", "tensor `w`: data_offsets" + whole + "`1.0`");
  bad("{\"w\":{\"data_offsets\":[0,18446744073709551616]}}",
      "tensor `w`: data_offsets" + whole + "`18446744073709551616`");
  bad("{\"__metadata__\":[]}", "`__metadata__` must be an object, found a list");
  bad("{\"__metadata__\":\"x\"}", "`__metadata__` must be an object, found the string `x`");
  bad("{\"__metadata__\":{\"step\":3}}", "metadata `step` must be a string, found 3");
  bad("{\"__metadata__\":{\"step\":0.5}}", "metadata `step` must be a string, found `0.5`");
  bad("{\"__metadata__\":{\"step\":null}}", "metadata `step` must be a string, found null");
  bad("{\"__metadata__\":{\"step\":false}}", "metadata `step` must be a string, found false");
  bad("{\"__metadata__\":{\"a\":[]}}", "metadata `a` must be a string, found a list");
  bad("{\"__metadata__\":{\"a\":{\"b\":{}}}}", "metadata `a` must be a string, found an object");
  bad("{\"__metadata__\":{\"a\\n\":\"\"}}", "the metadata key `a?` contains a control character");
  bad("{\"w\":{\"shape\":" + std::string(100'000, '['), "tensor `w`: shape" + whole + "a list");
  std::string objects;
  for (int i = 0; i < 20'000; ++i) objects += "{\"a\":";
  bad(objects, "tensor `a`: unknown field `a`; expected dtype, shape and data_offsets");
}

inline void add_bad_fields(std::vector<BadFile>& to) {
  auto bad = [&](const std::string& entries, const std::string& message) {
    to.push_back({file_of("{" + entries + "}", 1), message});
  };
  std::string w = tensor("w", "U8", "1", "0,1");
  bad(w + "," + w, "the name `w` appears twice");
  bad(w + ",\"\\u0077\":{}", "the name `w` appears twice");
  bad("\"__metadata__\":{},\"__metadata__\":{}", "the name `__metadata__` appears twice");
  bad("\"__metadata__\":{\"k\":\"1\",\"k\":\"1\"}", "metadata `k` appears twice");
  bad("\"w\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}", "tensor `w`: the field dtype appears twice");
  bad("\"w\":{\"shape\":[],\"shape\":[]}", "tensor `w`: the field shape appears twice");
  bad("\"w\":{\"shape\":[],\"data_offsets\":[0,1]}", "tensor `w`: the field dtype is missing");
  bad("\"w\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}", "tensor `w`: the field shape is missing");
  bad("\"w\":{\"dtype\":\"U8\",\"shape\":[]}", "tensor `w`: the field data_offsets is missing");
  for (const char* field : {"offsets", "Shape", ""})
    bad(std::string("\"w\":{\"dtype\":\"U8\",\"shape\":[],\"") + field + "\":[0,1]}",
        std::string("tensor `w`: unknown field `") + field
            + "`; expected dtype, shape and data_offsets");
  bad(tensor("w", "U8", "", ""), "data_offsets has 0 numbers; expected begin and end");
  bad(tensor("w", "U8", "", "0"), "data_offsets has 1 numbers; expected begin and end");
  bad(tensor("w", "U8", "", "0,1,1"), "data_offsets has more than 2 numbers");
  for (const char* name : {"F8_E4M3", "F8_E5M2", "F8_E8M0", "F4", "F6_E2M3", "I8", "I16", "U16",
                           "U32", "U64", "C64", "f32", "F32 ", "F128", ""})
    bad(tensor("w", name, "2", "0,2"),
        std::string("unknown dtype `") + name
            + "`; expected one of I64, F64, F32, I32, BF16, F16, U8, BOOL (tensor `w`)");
  bad(tensor("a\\u001bb", "U8", "", "0,1"), "the name `a?b` contains a control character");
  bad(tensor("a\\u0000", "U8", "", "0,1"), "the name `a?` contains a control character");
  bad(tensor("a\\u007f", "U8", "", "0,1"), "the name `a?` contains a control character");
  bad(tensor(std::string(4097, 'n'), "U8", "", "0,1"),
      "the name `" + std::string(80, 'n') + "...` is 4097 bytes long; at most 4096 are allowed");
}

inline void add_bad_sizes(std::vector<BadFile>& to) {
  auto bad = [&](const std::string& shape, const std::string& message) {
    to.push_back({file_of("{" + tensor("w", "F32", shape, "0,4") + "}", 4), message});
  };
  for (const char* number : {"-1", "-9223372036854775808", "1.0", "1e3", "0.5", "1E0",
                             "18446744073709551616", "99999999999999999999999999999999"}) {
    bool whole = std::string(number).find_first_not_of("-0123456789") == std::string::npos
                 && std::string(number).size() <= 20 && number[0] == '-';
    std::string shown = whole ? number : "`" + std::string(number) + "`";
    bad(number, "tensor `w`: shape must hold whole numbers that are not negative, found " + shown);
  }
  bad("-0", "tensor `w`: shape must hold whole numbers that are not negative, found 0");
  for (const char* number : {"9223372036854775808", "18446744073709551615"})
    bad(number, std::string("tensor `w`: axis 0 of shape has the size ") + number
                    + ", more than 64 bits with a sign can hold");
  for (const std::string shape :
       {"9223372036854775807", "4611686018427387904", "4294967296, 4294967296",
        "2097152, 2097152, 2097152, 2097152", "9223372036854775807, 0"})
    bad(shape,
        "shape: [" + shape + "]: more elements than a 64-bit count of bytes can hold (tensor `w`)");
  bad("1,1,1,1,1,1,1,1,1", "tensor `w`: shape has more than 8 axes");
  bad("500000000000000000",
      "f32[500000000000000000] takes 2000000000000000000 bytes, but data_offsets [0, 4] span 4");
  bad("2", "f32[2] takes 8 bytes, but data_offsets [0, 4] span 4");
  bad("0", "f32[0] takes 0 bytes, but data_offsets [0, 4] span 4");
  for (const char* number : {"01", "+1", "0x1", "1e", "1e999", "NaN", "1,", ".5", "1_0"})
    bad(number, "the header is not valid JSON at byte ");
}

inline void add_bad_places(std::vector<BadFile>& to) {
  auto bad = [&](const std::string& a, const std::string& b, std::size_t bytes,
                 const std::string& message) {
    to.push_back(
        {file_of("{" + tensor("a", "U8", "4", a) + "," + tensor("b", "U8", "4", b) + "}", bytes),
         message});
  };
  bad("0,4", "5,9", 9, "tensor `b`: bytes 4 to 5 of the data, before it, belong to no tensor");
  bad("1,5", "5,9", 9, "tensor `a`: bytes 0 to 1 of the data, before it, belong to no tensor");
  bad("5,9", "0,4", 9, "tensor `a`: bytes 4 to 5 of the data, before it, belong to no tensor");
  bad("0,4", "3,7", 7, "tensor `b`: its data starts at 3, within `a` that ends at 4");
  bad("3,7", "0,4", 7, "tensor `a`: its data starts at 3, within `b` that ends at 4");
  bad("0,4", "0,4", 4, "tensor `b`: its data starts at 0, within `a` that ends at 4");
  bad("0,4", "4,8", 9, "the tensors cover 8 bytes of data, but the file holds 9");
  bad("0,4", "4,8", 7, "tensor `b`: its data ends at 8, but the file holds 7 bytes of data");
  bad("0,4", "4,8", 0, "tensor `a`: its data ends at 4, but the file holds 0 bytes of data");
  bad("4,0", "4,8", 8, "tensor `a`: data_offsets end at 0, before their begin 4");
  bad("0,3", "3,7", 7, "tensor `a`: u8[4] takes 4 bytes, but data_offsets [0, 3] span 3");
  bad("0,5", "5,9", 9, "tensor `a`: u8[4] takes 4 bytes, but data_offsets [0, 5] span 5");
  bad("18446744073709551612,18446744073709551615", "0,4", 4,
      "data_offsets [18446744073709551612, 18446744073709551615] span 3");
  bad("18446744073709551611,18446744073709551615", "0,4", 4,
      "tensor `a`: bytes 4 to 18446744073709551611 of the data, before it, belong to no tensor");
  bad("9223372036854775804,9223372036854775808", "0,4", 8,
      "tensor `a`: bytes 4 to 9223372036854775804 of the data, before it, belong to no tensor");
  bad("9223372036854775808,9223372036854775812", "0,4", 8,
      "tensor `a`: bytes 4 to 9223372036854775808 of the data, before it, belong to no tensor");
  // Empty tensors have a place too.
  to.push_back(
      {file_of("{" + tensor("a", "U8", "4", "0,4") + "," + tensor("e", "U8", "0", "2,2") + "}", 4),
       "tensor `e`: its data starts at 2, within `a` that ends at 4"});
  to.push_back({file_of("{" + tensor("e", "U8", "0", "9,9") + "}"),
                "tensor `e`: bytes 0 to 9 of the data, before it, belong to no tensor"});
  to.push_back({file_of("{}", 1), "the tensors cover 0 bytes of data, but the file holds 1"});
  // More memory than there is, in places that fit each other.
  std::string half = "288230376151711744", whole = "576460752303423488";
  to.push_back({file_of("{" + tensor("a", "U8", half, "0," + half) + ","
                            + tensor("b", "U8", half, half + "," + whole) + "}",
                        8),
                "tensor `a`: its data ends at 288230376151711744, but the file holds 8 bytes"});
}

inline void add_bad_contents(std::vector<BadFile>& to) {
  to.push_back({file_of("{" + tensor("w", "BOOL", "3", "0,3") + "}", 3),
                "tensor `w`: element 2 of type BOOL is 2; expected 0 or 1", false});
  // Checksums that are missing, or of nothing.
  auto marked = [&](const std::string& metadata, const std::string& message) {
    to.push_back(
        {file_of("{\"__metadata__\":{" + metadata + "}," + tensor("w", "U8", "1", "0,1") + "}", 1),
         message});
  };
  marked("\"belfry.step\":\"1\"", "the metadata has `belfry.step` but no `belfry.crc32c`");
  marked("\"belfry.crc32c\":\"0\"",
         "the metadata has `belfry.crc32c` but no `belfry.header_crc32c`: the file is damaged");
  marked("\"belfry.header_crc32c\":\"0\"",
         "the metadata has `belfry.header_crc32c` but no `belfry.crc32c`: the file is damaged");
  marked("\"belfry.crc32c\":\"0\",\"belfry.header_crc32c\":\"\"", "the checksum of the header is ");
}

/// Each is another file.
inline std::vector<BadFile> bad_safetensors() {
  std::vector<BadFile> out;
  add_bad_lengths(out);
  add_bad_texts(out);
  add_bad_values(out);
  add_bad_fields(out);
  add_bad_sizes(out);
  add_bad_places(out);
  add_bad_contents(out);
  return out;
}

}  // namespace belfry
