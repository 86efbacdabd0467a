#include "belfry/data/formats/arrays/npy.h"

#include "../../../framework/base/temporary_folder.h"
#include "formats/bytes.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// The bytes that numpy.save writes for numpy.array([1, 2, 3]).
const ByteVector one_two_three =
    hex("93 4e 55 4d 50 59 01 00 76 00")
    + bytes_of(
        "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }"
        "                                                            \n")
    + hex("01 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 03 00 00 00 00 00 00 00");

/// A file of version 1.0 with this dict, unpadded.
ByteVector file(const std::string& dict, std::span<const std::byte> data = {}) {
  return hex("93 4e 55 4d 50 59 01 00") + bytes_of(std::string{static_cast<char>(dict.size()), 0})
         + bytes_of(dict) + data;
}

ByteVector file_of(const std::string& descr, const std::string& shape, std::string_view data,
                   bool fortran = false) {
  return file("{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False")
                  + ", 'shape': " + shape + ", }",
              hex(data));
}

std::string error_in(const ByteVector& bytes) {
  return error_of([&] { parse_npy(bytes, "m"); });
}

TEST(ParseNpy, ReadsWhatNumPyWrites) {
  ASSERT_EQ(one_two_three.size(), 128u + 24u);
  EXPECT_TRUE(identical(parse_npy(one_two_three), Array::of<std::int64_t>({1, 2, 3})));
}

TEST(ParseNpy, ReadsEveryTypeInEitherByteOrder) {
  auto expect = [](const std::string& type, std::string_view little, std::string_view big,
                   const Array& expected) {
    EXPECT_TRUE(identical(parse_npy(file_of("<" + type, "(2,)", little)), expected)) << type;
    EXPECT_TRUE(identical(parse_npy(file_of(">" + type, "(2,)", big)), expected)) << type;
  };
  expect("f8", "00 00 00 00 00 00 f8 3f 00 00 00 00 00 00 00 c0",
         "3f f8 00 00 00 00 00 00 c0 00 00 00 00 00 00 00", Array::of<double>({1.5, -2}));
  expect("f4", "00 00 c0 3f 00 00 00 c0", "3f c0 00 00 c0 00 00 00", Array::of<float>({1.5f, -2}));
  expect("f2", "00 3e 00 c0", "3e 00 c0 00", Array::of<Float16>({Float16(1.5f), Float16(-2)}));
  expect("i8", "02 01 00 00 00 00 00 00 fe ff ff ff ff ff ff ff",
         "00 00 00 00 00 00 01 02 ff ff ff ff ff ff ff fe", Array::of<std::int64_t>({258, -2}));
  expect("i4", "02 01 00 00 fe ff ff ff", "00 00 01 02 ff ff ff fe",
         Array::of<std::int32_t>({258, -2}));
  expect("i2", "02 01 fe ff", "01 02 ff fe", Array::of<std::int32_t>({258, -2}));
  expect("i1", "7f fe", "7f fe", Array::of<std::int32_t>({127, -2}));
  expect("u4", "02 01 00 00 fe ff ff ff", "00 00 01 02 ff ff ff fe",
         Array::of<std::int64_t>({258, 4294967294}));
  expect("u2", "02 01 fe ff", "01 02 ff fe", Array::of<std::int32_t>({258, 65534}));
  expect("u1", "7f fe", "7f fe", Array::of<std::uint8_t>({127, 254}));
  expect("b1", "01 00", "01 00", Array::of<bool>({true, false}));
  EXPECT_TRUE(
      identical(parse_npy(file_of("|u1", "(2,)", "7f fe")), Array::of<std::uint8_t>({127, 254})));
}

TEST(ParseNpy, PutsFortranOrderIntoRows) {
  // [[0, 1, 2], [10, 11, 12]], column after column
  EXPECT_TRUE(identical(parse_npy(file_of("<i2", "(2, 3)", "0000 0a00 0100 0b00 0200 0c00", true)),
                        Array::of<std::int32_t>({0, 1, 2, 10, 11, 12}, {2, 3})));
  EXPECT_TRUE(identical(parse_npy(file_of("<i2", "(3,)", "0000 0a00 0100", true)),
                        Array::of<std::int32_t>({0, 10, 1})));
  EXPECT_EQ(parse_npy(file_of("<i2", "(0, 3)", "", true)).shape(), Shape({0, 3}));
  std::string columns;
  Array expected(Shape{2, 3, 4}, DType::u8);
  for (int k = 0; k < 4; ++k) {
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 2; ++i) {
        int value = 100 * i + 10 * j + k;
        columns += static_cast<char>(value);
        expected.span<std::uint8_t>()[static_cast<std::size_t>(12 * i + 4 * j + k)] =
            static_cast<std::uint8_t>(value);
      }
    }
  }
  ByteVector bytes =
      file("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4), }", bytes_of(columns));
  EXPECT_TRUE(identical(parse_npy(bytes), expected));
}

TEST(ParseNpy, ToleratesOtherSpellingsOfTheHeader) {
  Array expected = Array::of<std::uint8_t>({1, 2}, {2, 1});
  for (const char* dict :
       {"{'shape': (2, 1), 'fortran_order': False, 'descr': '|u1'}",
        "{\"descr\":\"|u1\",\"fortran_order\":False,\"shape\":(2,1,)}  \n",
        " { 'fortran_order' : False , 'shape' : ( 2L , 1L ) , 'descr' : '<u1' , } ",
        "{'descr': '=u1', 'fortran_order': True, 'shape': (2, 1)}"})
    EXPECT_TRUE(identical(parse_npy(file(dict, hex("01 02"))), expected)) << dict;
  // Versions 2.0 and 3.0 have a length of four bytes.
  std::string dict = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 1), }";
  for (const char* version : {"02 00", "03 00"}) {
    ByteVector bytes = hex("93 4e 55 4d 50 59") + hex(version)
                       + bytes_of(std::string{static_cast<char>(dict.size()), 0, 0, 0})
                       + bytes_of(dict) + hex("01 02");
    EXPECT_TRUE(identical(parse_npy(bytes), expected)) << version;
  }
}

TEST(ParseNpy, ReadsScalarsAndEmptyArrays) {
  EXPECT_TRUE(
      identical(parse_npy(file_of("<i4", "()", "07 00 00 00")), Array::scalar<std::int32_t>(7)));
  EXPECT_EQ(parse_npy(file_of("<f4", "(0,)", "")).type(), (TensorType{{0}, DType::f32}));
  EXPECT_EQ(parse_npy(file_of(">u2", "(3, 0, 2)", "")).type(), (TensorType{{3, 0, 2}, DType::i32}));
}

TEST(ParseNpy, SaysWhereTheHeaderIsWrong) {
  auto in_dict = [](const std::string& dict) { return error_in(file(dict)); };
  EXPECT_EQ(error_in(bytes_of("PK\3\4 and so on")),
            "m: not an NPY file: it does not begin with the bytes 93 4e 55 4d 50 59");
  EXPECT_EQ(error_in(hex("93 4e 55 4d 50 59 04 00 00 00")),
            "m: the version at byte 6 is 4.0, expected 1.0, 2.0 or 3.0");
  EXPECT_EQ(in_dict("[]"), "m: the header is damaged at byte 10: found `[]`, expected `{`");
  EXPECT_EQ(in_dict("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)"),
            "m: the header is damaged at byte 64: it ends there, expected `}`");
  EXPECT_EQ(in_dict("{'descr': '<f4', 'fortran_order': False}"),
            "m: the header at byte 10 lacks one of 'descr', 'fortran_order' and 'shape'");
  EXPECT_EQ(in_dict("{'descr': '<f4', 'descr': '<f4'}"),
            "m: the header is damaged at byte 27: found `'descr': '`, expected each of 'descr', "
            "'fortran_order' and 'shape' once");
  EXPECT_THAT(in_dict("{'more': 1}"), HasSubstr("expected each of 'descr'"));
  EXPECT_THAT(in_dict("{'fortran_order': false}"), HasSubstr("`false}`, expected True or False"));
  EXPECT_THAT(in_dict("{'descr': '<f4}"), HasSubstr("expected a string"));
  EXPECT_THAT(in_dict("{'shape': (3)}"), HasSubstr("found `)}`, expected `,`"));
  EXPECT_THAT(in_dict("{'shape': (-3,)}"), HasSubstr("found `-3,)}`, expected a size"));
  EXPECT_THAT(in_dict("{'shape': (3 4)}"), HasSubstr("found `4)}`, expected `,`"));
  EXPECT_THAT(in_dict("{'shape': (1,1,1,1,1,1,1,1,1)}"), HasSubstr("expected at most 8 axes"));
  EXPECT_THAT(in_dict("{'shape': (99999999999999999999,)}"), HasSubstr("a size below 2^60"));
  EXPECT_THAT(
      in_dict("{'shape': (1000000000000, 1000000000000)}"),
      HasSubstr("more elements than a 64-bit count of bytes can hold (in the header of m)"));
  std::string good = "{'descr': '|u1', 'fortran_order': False, 'shape': ()}";
  EXPECT_THAT(error_in(file(good + "x", hex("01"))), HasSubstr("`x`, expected nothing after"));
  EXPECT_THAT(error_in(file(good + std::string(1, '\0'), hex("01"))),
              HasSubstr("`?`, expected nothing after"));
}

TEST(ParseNpy, SaysWhyATypeCannotBeRead) {
  auto of_type = [](const std::string& descr) { return error_in(file_of(descr, "()", "")); };
  EXPECT_EQ(of_type("<c8"),
            "m: elements of type `<c8` cannot be read: complex numbers have no type here; save "
            "both parts; types that can be are f8 f4 f2 i8 i4 i2 i1 u4 u2 u1 b1");
  EXPECT_THAT(of_type("|O"), HasSubstr("Python objects are pickled"));
  EXPECT_THAT(of_type("|S5"), HasSubstr("strings have no type"));
  EXPECT_THAT(of_type("<U7"), HasSubstr("strings have no type"));
  EXPECT_THAT(of_type("<M8[ns]"), HasSubstr("save dates as integers"));
  EXPECT_THAT(of_type("<u8"), HasSubstr("save it as i8"));
  EXPECT_THAT(of_type("|V2"), HasSubstr("if that is bf16"));
  EXPECT_THAT(of_type("<f16"), HasSubstr("it has no type here"));
  EXPECT_THAT(of_type("f4"), HasSubstr("the type `f4` in the header is none of NumPy's"));
  EXPECT_THAT(of_type(""), HasSubstr("the type `` in the header"));
  EXPECT_THAT(error_in(file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}")),
              HasSubstr("records (structured types) cannot be read"));
}

TEST(ParseNpy, BelievesNoSize) {
  EXPECT_EQ(error_in(file_of("<f4", "(1000000000, 1000000)", "00 00")),
            "m: 2 bytes follow after the header at byte 84, expected 4000000000000000 for "
            "[1000000000, 1000000] elements of 4 bytes");
  EXPECT_THAT(error_in(one_two_three + hex("00")), StartsWith("m: 25 bytes follow after"));
  EXPECT_EQ(error_in(hex("93 4e 55 4d 50 59 02 00 ff ff ff ff")),
            "m: truncated at byte 12: the header at byte 12 takes 4294967295 bytes");
  EXPECT_EQ(error_in(file_of("|b1", "(3,)", "01 00 02")).substr(0, 25),
            "m: the boolean at byte 69");
}

TEST(ParseNpy, EveryTruncationIsAnError) {
  for (std::size_t length = 0; length < one_two_three.size(); ++length) {
    std::string error = error_of([&] { parse_npy(first(one_two_three, length), "m"); });
    EXPECT_THAT(error, StartsWith("m: ")) << length;
  }
}

TEST(ParseNpy, AnyBytesGiveAnArrayOrAnError) {
  ByteVector fortran = file_of(">i2", "(2, 3)", "0000 0a00 0100 0b00 0200 0c00", true);
  for (const ByteVector& whole : {one_two_three, fortran, file_of("|b1", "(2,)", "01 00")})
    for_mutations(whole, 5'000, [](const ByteVector& bad) { error_in(bad); });
}

TEST(NpyHeader, IsWhatNumPyWrites) {
  EXPECT_EQ(bytes_of(npy_header({{3}, DType::i64})),
            ByteVector(one_two_three.begin(), one_two_three.end() - 24));
  std::string scalar = npy_header({{}, DType::u8});
  EXPECT_THAT(scalar.substr(10),
              StartsWith("{'descr': '|u1', 'fortran_order': False, 'shape': (), } "));
  EXPECT_EQ(scalar.size(), 128u);
  EXPECT_THAT(npy_header({{2, 3}, DType::boolean}).substr(10),
              StartsWith("{'descr': '|b1', 'fortran_order': False, 'shape': (2, 3), } "));
  for (std::int64_t size = 1; size < 1'000'000'000'000; size *= 3) {
    std::string header = npy_header({{size, 1, 1, 1, 1, 1, 1, 1}, DType::f16});
    EXPECT_EQ(header.size() % 64, 0u);
    EXPECT_EQ(header.back(), '\n');
    EXPECT_EQ(static_cast<std::size_t>(header[8]), header.size() - 10);
  }
}

TEST(WriteNpy, EveryTypeAndRankComesBack) {
  TemporaryFolder folder;
  PhiloxStream random(philox_key(3, "npy"));
  for (DType dtype :
       {DType::f64, DType::f32, DType::f16, DType::i64, DType::i32, DType::u8, DType::boolean}) {
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{2, 3, 4}, Shape{2, 1, 3, 4},
                               Shape{0}, Shape{2, 0, 3}}) {
      Array array(shape, dtype);
      for (std::byte& byte : array.raw_bytes())
        byte =
            static_cast<std::byte>(dtype == DType::boolean ? random.below(2) : random.below(256));
      write_npy(folder / "a.npy", array);
      EXPECT_TRUE(identical(read_npy(folder / "a.npy"), array)) << to_string(array.type());
      EXPECT_EQ(read_bytes(folder / "a.npy"), to_npy(array));
    }
  }
}

TEST(WriteNpy, GivesTheBytesOfNumPy) {
  EXPECT_EQ(to_npy(Array::of<std::int64_t>({1, 2, 3})), one_two_three);
}

TEST(WriteNpy, RefusesWhatNumPyCannotHold) {
  TemporaryFolder folder;
  std::string path = folder / "a.npy";
  EXPECT_EQ(error_of([&] { write_npy(path, Array(Shape{2}, DType::bf16)); }),
            "NumPy has no type for bf16; cast to f32 (writing `" + path + "`)");
  EXPECT_EQ(error_of([&] { write_npy(path, Array()); }),
            "cannot write `" + path + "`: the array is undefined");
  EXPECT_TRUE(folder.names().empty());
}

TEST(ReadNpy, NamesTheFile) {
  TemporaryFolder folder;
  EXPECT_THAT(error_of([&] { read_npy(folder / "none"); }),
              StartsWith("cannot read `" + folder / "none" + "`: No such file"));
  write_bytes(folder / "bad", bytes_of("rubbish and more"));
  EXPECT_THAT(error_of([&] { read_npy(folder / "bad"); }),
              StartsWith(folder / "bad" + ": not an NPY"));
}

}  // namespace
}  // namespace belfry::data
