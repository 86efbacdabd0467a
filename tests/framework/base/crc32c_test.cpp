#include "belfry/framework/base/crc32c.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace belfry {
namespace {

using Bytes = std::vector<std::byte>;

std::span<const std::byte> bytes(std::string_view s) { return std::as_bytes(std::span(s)); }

// RFC 3720, appendix B.4, and the customary check value of "123456789".
TEST(Crc32c, KnownAnswers) {
  Bytes ascending(32), descending(32);
  for (int i = 0; i < 32; ++i) {
    ascending[static_cast<std::size_t>(i)] = static_cast<std::byte>(i);
    descending[static_cast<std::size_t>(i)] = static_cast<std::byte>(31 - i);
  }
  for (auto* checksum : {&crc32c, &crc32c_portable}) {
    EXPECT_EQ(checksum({}, 0), 0u);
    EXPECT_EQ(checksum(bytes("123456789"), 0), 0xe3069283u);
    EXPECT_EQ(checksum(Bytes(32, std::byte{0}), 0), 0x8a9136aau);
    EXPECT_EQ(checksum(Bytes(32, std::byte{0xff}), 0), 0x62a8ab43u);
    EXPECT_EQ(checksum(ascending, 0), 0x46dd794eu);
    EXPECT_EQ(checksum(descending, 0), 0x113fdb5cu);
  }
}

TEST(Crc32c, ContinuesAcrossPartsOfAnyLengthAndAlignment) {
  Bytes data(67);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 37 + 11);
  std::span<const std::byte> all(data);
  std::uint32_t whole = crc32c_portable(all);
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    EXPECT_EQ(crc32c(all.subspan(cut), crc32c(all.first(cut))), whole) << "cut at " << cut;
    EXPECT_EQ(crc32c_portable(all.subspan(cut), crc32c_portable(all.first(cut))), whole);
  }
}

// Long runs are computed in three lanes of 1,024 bytes: lengths around one and two such runs.
TEST(Crc32c, LongRunsEqualThePortableForm) {
  Bytes data(6200);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * i / 7 + i);
  std::span<const std::byte> all(data);
  for (std::size_t size : {3064u, 3071u, 3072u, 3073u, 3080u, 6143u, 6144u, 6145u, 6197u})
    for (std::size_t start : {0u, 1u, 3u})
      EXPECT_EQ(crc32c(all.subspan(start, size), 7), crc32c_portable(all.subspan(start, size), 7))
          << size << " bytes from " << start;
}

TEST(Crc32c, EveryFlippedBitChangesIt) {
  Bytes data(24, std::byte{0x5a});
  std::uint32_t before = crc32c(data);
  for (std::size_t bit = 0; bit < 8 * data.size(); ++bit) {
    data[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_NE(crc32c(data), before) << "bit " << bit;
    data[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

}  // namespace
}  // namespace belfry
