// Tables whose checksums are right and whose content lies.

#include "belfry/framework/tensor/sorted_table.h"

#include <gmock/gmock.h>

#include "../base/error_of.h"
#include "table_bytes.h"

namespace belfry {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

std::string outcome(const std::string& file) {
  std::string seen;
  std::string error = error_of([&] {
    sorted_table::read(std::as_bytes(std::span(file)),
                       [&](auto key, auto value) { seen += concat(key, "=", value, ";"); });
  });
  return error == "no error" ? seen : error;
}

std::string entry(std::uint64_t shared, std::uint64_t own, std::uint64_t value,
                  const std::string& bytes) {
  return varint_bytes(shared) + varint_bytes(own) + varint_bytes(value) + bytes;
}

TEST(SortedTable, KeysShareTheirBeginning) {
  EXPECT_EQ(outcome(table_around(block_of(entry(0, 2, 1, "abx") + entry(1, 1, 0, "c")))),
            "ab=x;ac=;");
}

TEST(SortedTable, EntriesThatLieAreErrors) {
  auto error = [](const std::string& entries) { return outcome(table_around(block_of(entries))); };
  constexpr std::uint64_t huge = 0xffffffff, more = ~std::uint64_t{0};
  EXPECT_THAT(error(entry(0, huge, 2, "ab")), HasSubstr("4294967295 bytes are announced but 2"));
  EXPECT_THAT(error(entry(0, 1, more, "ab")), HasSubstr("bytes are announced but 1"));
  EXPECT_THAT(error(entry(0, 1, 1, "ab") + entry(2, 1, 0, "c")),
              HasSubstr("a key shares 2 bytes with the one before, which has 1"));
  EXPECT_THAT(error(entry(0, 1, 0, "b") + entry(0, 1, 0, "b")), HasSubstr("do not rise"));
  EXPECT_THAT(error("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
              HasSubstr("has more than 64 bits"));
  EXPECT_THAT(error("\x80"), HasSubstr("cut short"));
}

TEST(SortedTable, BlocksThatLieAreErrors) {
  EXPECT_THAT(outcome(table_around("")), HasSubstr("0 restarts do not fit into 0 bytes"));
  EXPECT_THAT(outcome(table_around(u32_bytes(0))), HasSubstr("0 restarts"));
  EXPECT_THAT(outcome(table_around(u32_bytes(2))), HasSubstr("2 restarts do not fit into 4"));
  EXPECT_THAT(outcome(table_around(block_of(""), 2)), HasSubstr("compressed in way 2"));
  // Snappy's length says 4 GiB.
  EXPECT_THAT(outcome(table_around("\xff\xff\xff\xff\x0f"
                                   "abc",
                                   1)),
              AnyOf(HasSubstr("is not what Snappy writes"), HasSubstr("libsnappy-dev")));
}

TEST(SortedTable, HandlesThatLieAreErrors) {
  auto error = [](std::uint64_t offset, std::uint64_t size) {
    return outcome(
        table_with_handle(stored_block(block_of("")), varint_bytes(offset) + varint_bytes(size)));
  };
  EXPECT_EQ(error(0, 8), "");
  EXPECT_THAT(error(0, 1 << 20), HasSubstr("a block of 1048576 bytes is announced at byte 0"));
  EXPECT_THAT(error(0, ~std::uint64_t{0}), HasSubstr("does not fit"));
  EXPECT_THAT(error(~std::uint64_t{0}, 8), HasSubstr("does not fit"));
  EXPECT_THAT(error(~std::uint64_t{0}, ~std::uint64_t{0}), HasSubstr("does not fit"));
}

// Each entry costs four bytes and its key has the bytes of all before it.
TEST(SortedTable, KeysThatGrowWithoutEndAreAnError) {
  std::string entries;
  for (std::uint64_t i = 0; i < 3000; ++i) entries += entry(i, 1, 0, "k");
  EXPECT_THAT(outcome(table_around(block_of(entries))), HasSubstr("more than 64 times"));
}

TEST(SortedTable, KeysMustRiseToBeWritten) {
  EXPECT_THAT(error_of([] {
                sorted_table::write({{"b", ""}, {"a", ""}});
              }),
              HasSubstr("key `a` does not come after `b`"));
  EXPECT_EQ(outcome(sorted_table::write({})), "");
}

}  // namespace
}  // namespace belfry
