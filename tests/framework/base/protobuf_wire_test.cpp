#include "belfry/framework/base/protobuf_wire.h"

#include <gmock/gmock.h>

#include "bytes.h"
#include "error_of.h"

namespace belfry::protobuf {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

/// The fields of a message: "1=150", "2=`text`", "3", for varints, texts and others.
std::vector<std::string> fields(std::span<const std::byte> bytes) {
  std::vector<std::string> out;
  WireReader message(bytes);
  while (message.next()) {
    std::string word = text(message.field());
    if (message.type() == WireType::varint)
      word += concat("=", message.varint());
    else if (message.type() == WireType::length_delimited)
      word += concat("=`", message.text(), "`");
    out.push_back(word);
  }
  return out;
}

std::string error_in(const char* digits) {
  return error_of([&] { fields(hex(digits)); });
}

std::string varint_of(const char* digits) {
  ByteVector bytes = hex(digits);
  std::string out;
  std::string error = error_of([&] { out = text(WireReader(bytes).varint()); });
  return error == "no error" ? out : error;
}

TEST(WireReader, ReadsTheExamplesOfTheFormatsDocumentation) {
  EXPECT_THAT(fields(hex("08 96 01")), ElementsAre("1=150"));
  EXPECT_THAT(fields(hex("12 07 74 65 73 74 69 6e 67")), ElementsAre("2=`testing`"));
  EXPECT_THAT(fields(hex("1a 03 08 96 01")), ElementsAre(StartsWith("3=`")));
  // Packed: field 6 with 3, 270 and 86942
  ByteVector bytes = hex("32 06 03 8e 02 9e a7 05");
  WireReader message(bytes);
  ASSERT_TRUE(message.next());
  ASSERT_TRUE(message.is(6, WireType::length_delimited));
  WireReader packed = message.message();
  std::vector<std::uint64_t> values;
  while (!packed.done()) values.push_back(packed.varint());
  EXPECT_THAT(values, ElementsAre(3u, 270u, 86942u));
  EXPECT_FALSE(message.next());
}

TEST(WireReader, VarintsHoldSixtyFourBits) {
  EXPECT_EQ(varint_of("00"), "0");
  EXPECT_EQ(varint_of("7f"), "127");
  EXPECT_EQ(varint_of("80 01"), "128");
  EXPECT_EQ(varint_of("80 00"), "0");  // longer than need be, and allowed
  EXPECT_EQ(varint_of("ff ff ff ff ff ff ff ff 7f"), "9223372036854775807");
  EXPECT_EQ(varint_of("ff ff ff ff ff ff ff ff ff 01"), "18446744073709551615");
  EXPECT_EQ(varint_of("ff ff ff ff ff ff ff ff ff 02"),
            "protobuf: at byte 0: a varint has more than 64 bits");
  EXPECT_EQ(varint_of("80 80 80 80 80 80 80 80 80 80 01"),
            "protobuf: at byte 0: a varint has more than 64 bits");
  EXPECT_EQ(varint_of(""), "protobuf: at byte 0: a varint is cut short after 0 bytes");
  EXPECT_EQ(varint_of("ff 80"), "protobuf: at byte 0: a varint is cut short after 2 bytes");
}

TEST(WireReader, ReadsFixedNumbers) {
  ByteVector bytes = hex("0d 78 56 34 12 10 01");
  WireReader message(bytes);
  ASSERT_TRUE(message.next());
  ASSERT_TRUE(message.is(1, WireType::fixed32));
  EXPECT_EQ(message.fixed32(), 0x12345678u);
  ASSERT_TRUE(message.next());
  EXPECT_TRUE(message.is(2, WireType::varint));
  EXPECT_FALSE(message.is(2, WireType::fixed32));
  EXPECT_FALSE(message.is(1, WireType::varint));
}

TEST(WireReader, ReadsFixedNumbersOfEightBytes) {
  ByteVector bytes = hex("09 08 07 06 05 04 03 02 01");
  WireReader message(bytes);
  ASSERT_TRUE(message.next());
  ASSERT_TRUE(message.is(1, WireType::fixed64));
  EXPECT_EQ(message.fixed64(), 0x0102030405060708u);
  EXPECT_FALSE(message.next());
}

TEST(WireReader, SkipsWhatIsLeftAlone) {
  // fixed64, fixed32, a group with a varint and an inner group, then field 5 = 1
  EXPECT_THAT(fields(hex("09 01 02 03 04 05 06 07 08 15 01 02 03 04"
                         "1b 08 05 23 24 1c 28 01")),
              ElementsAre("1", "2", "3", "5=1"));
  ByteVector bytes = hex("08 96 01 12 02 61 62 18 07");
  WireReader message(bytes);
  int count = 0;
  while (message.next()) ++count;
  EXPECT_EQ(count, 3);
}

TEST(WireReader, SaysWhereBytesAreNoMessage) {
  EXPECT_EQ(error_in("12 05 61 62"), "protobuf: at byte 2: field 2 has 5 bytes, but 2 are left");
  EXPECT_EQ(error_in("12 ff ff ff ff ff ff ff ff ff 01 61"),
            "protobuf: at byte 11: field 2 has 18446744073709551615 bytes, but 1 are left");
  EXPECT_EQ(error_in("0d 01 02 03"), "protobuf: at byte 1: field 1 has 4 bytes, but 3 are left");
  EXPECT_EQ(error_in("09 01"), "protobuf: at byte 1: field 1 has 8 bytes, but 1 are left");
  EXPECT_EQ(error_in("08"), "protobuf: at byte 1: a varint is cut short after 0 bytes");
  EXPECT_EQ(error_in("00 01"),
            "protobuf: at byte 1: before it stands a field of number 0, expected 1 to 536870911");
  EXPECT_EQ(error_in("f8 ff ff ff 1f"),
            "protobuf: at byte 5: before it stands a field of number 1073741823, expected 1 to "
            "536870911");
  EXPECT_EQ(error_in("08 01 0e"),
            "protobuf: at byte 3: before it stands a field of wire type 6, expected 0 to 5");
  EXPECT_EQ(error_in("0c"),
            "protobuf: at byte 1: before it ends a group that has not begun, field 1");
  EXPECT_EQ(error_in("0b 14"),
            "protobuf: at byte 2: before it ends group 2, expected the end of group 1");
  EXPECT_EQ(error_in("0b 08 01"), "protobuf: at byte 3: a varint is cut short after 0 bytes");
}

TEST(WireReader, OffsetsCountFromTheOutermostMessage) {
  ByteVector bytes = hex("08 01 12 02 08 ff");
  EXPECT_EQ(error_of([&] {
              WireReader message(bytes);
              message.next();
              message.next();
              WireReader inner = message.message();
              inner.next();
              inner.varint();
            }),
            "protobuf: at byte 5: a varint is cut short after 1 bytes");
}

TEST(WireReader, DepthIsLimited) {
  ByteVector groups;
  for (int i = 0; i < 100'000; ++i) groups.push_back(std::byte{0x0b});
  EXPECT_EQ(error_of([&] { fields(groups); }),
            "protobuf: at byte 101: groups nested more than 100 deep");

  WireWriter writer;
  auto nest = [&](auto& self, int depth) -> void {
    if (depth > 0) writer.message(1, [&] { self(self, depth - 1); });
  };
  nest(nest, 101);
  ByteVector bytes = writer.release();
  auto descend = [](auto& self, WireReader message) -> int {
    return message.next() ? 1 + self(self, message.message()) : 0;
  };
  EXPECT_THAT(error_of([&] { descend(descend, WireReader(bytes)); }),
              ::testing::EndsWith(": messages nested more than 100 deep"));
  WireWriter shallower;
  nest(nest, 0);
  auto nest_shallower = [&](auto& self, int depth) -> void {
    if (depth > 0) shallower.message(1, [&] { self(self, depth - 1); });
  };
  nest_shallower(nest_shallower, 100);
  ByteVector fits = shallower.release();
  EXPECT_EQ(descend(descend, WireReader(fits)), 100);
}

TEST(WireWriter, WritesWhatTheFormatAsksFor) {
  WireWriter writer;
  writer.varint(1, 150);
  writer.text(2, "testing");
  writer.fixed32(3, 0x12345678);
  writer.message(4, [&] {
    writer.varint(1, 0xffffffffffffffff);
    writer.message(2, [] {});
  });
  writer.message(6, [&] {
    for (std::uint64_t value : {3, 270, 86942}) writer.packed_varint(value);
  });
  writer.bytes(16, hex("ff"));
  EXPECT_EQ(writer.release(), hex("08 96 01  12 07 74 65 73 74 69 6e 67  1d 78 56 34 12"
                                  "22 0d 08 ff ff ff ff ff ff ff ff ff 01 12 00"
                                  "32 06 03 8e 02 9e a7 05  82 01 01 ff"));
}

// IEEE 754: 1 is 0x3f800000 and 0x3ff0000000000000, -2 is 0xc0000000 and 0xc000000000000000.
TEST(WireWriter, WritesFloatingNumbers) {
  WireWriter writer;
  writer.fixed64(1, 0x0102030405060708);
  writer.float32(2, 1);
  writer.float64(3, -2);
  writer.packed_floats(4, std::vector<float>{1, -2});
  writer.packed_doubles(5, std::vector<double>{1});
  EXPECT_EQ(writer.release(), hex("09 08 07 06 05 04 03 02 01  15 00 00 80 3f"
                                  "19 00 00 00 00 00 00 00 c0  22 08 00 00 80 3f 00 00 00 c0"
                                  "2a 08 00 00 00 00 00 00 f0 3f"));
  EXPECT_TRUE(writer.release().empty());
}

TEST(WireWriter, LengthsOfTwoBytes) {
  WireWriter writer;
  writer.message(1, [&] { writer.bytes(1, ByteVector(200, std::byte{7})); });
  EXPECT_EQ(writer.release(), hex("0a cb 01 0a c8 01") + ByteVector(200, std::byte{7}));
}

}  // namespace
}  // namespace belfry::protobuf
