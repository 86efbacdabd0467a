#include "belfry/data/formats/token_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "../../framework/base/error_of.h"
#include "../../framework/base/temporary_folder.h"
#include "belfry/framework/base/file.h"

namespace belfry::data {
namespace {

using Tokens = std::vector<std::int32_t>;
constexpr std::int32_t most = 2147483647;

std::string written(StoredToken stored, const Tokens& tokens) {
  TemporaryFolder folder;
  TokenWriter writer(folder / "t", stored);
  writer.write(tokens);
  writer.close();
  return read_file(folder / "t");
}

TEST(TokenWriter, WritesNothingButTheTokens) {
  EXPECT_EQ(written(StoredToken::u16, {1, 258, 65535}), std::string("\1\0\2\1\xff\xff", 6));
  EXPECT_EQ(written(StoredToken::u32, {1, most}), std::string("\1\0\0\0\xff\xff\xff\x7f", 8));
  EXPECT_EQ(written(StoredToken::i32, {258, -2}), std::string("\2\1\0\0\xfe\xff\xff\xff", 8));
  EXPECT_EQ(written(StoredToken::u16, {}), "");
}

TEST(TokenWriter, AppendsAnyNumber) {
  Tokens tokens(10'000);
  std::iota(tokens.begin(), tokens.end(), 0);
  std::string bytes = written(StoredToken::u16, tokens);
  ASSERT_EQ(bytes.size(), 20'000u);
  for (std::size_t i : {0u, 4095u, 4096u, 8192u, 9999u}) {
    EXPECT_EQ(bytes[2 * i], static_cast<char>(i % 256)) << i;
    EXPECT_EQ(bytes[2 * i + 1], static_cast<char>(i / 256)) << i;
  }
}

TEST(TokenWriter, RefusesWhatTheTypeCannotHold) {
  TemporaryFolder folder;
  std::string path = folder / "t";
  TokenWriter writer(path);
  writer.write(Tokens{7, 8});
  EXPECT_EQ(error_of([&] {
              writer.write(Tokens{9, 65536});
            }),
            path + ": token 3 is 65536, which u16 cannot hold; choose another StoredToken");
  EXPECT_EQ(error_of([&] { writer.write(Tokens{-1}); }),
            path + ": token 2 is -1, which u16 cannot hold; choose another StoredToken");
  EXPECT_EQ(writer.count(), 2);
  writer.write(Tokens{10});  // of those refused none is there
  EXPECT_EQ(writer.count(), 3);
  writer.close();
  EXPECT_EQ(read_file(path), std::string("\7\0\x8\0\xa\0", 6));
  TokenWriter wide(path, StoredToken::u32);
  EXPECT_EQ(error_of([&] { wide.write(Tokens{-1}); }),
            path + ": token 0 is -1, which u32 cannot hold; choose another StoredToken");
}

TEST(TokenWriter, AFileAppearsWholeOrNotAtAll) {
  TemporaryFolder folder;
  std::string path = folder / "t";
  {
    TokenWriter writer(path);
    writer.write(Tokens{1, 2, 3});
    writer.flush();
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  TokenWriter writer(path);
  writer.close();
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_NE(error_of([&] { writer.write(Tokens{1}); }), "no error");
  EXPECT_NE(error_of([&] { TokenWriter(folder / "gone/t"); }), "no error");
}

}  // namespace
}  // namespace belfry::data
