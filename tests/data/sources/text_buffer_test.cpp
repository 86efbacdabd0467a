#include "belfry/data/sources/text_buffer.h"

#include "source_files.h"

namespace belfry::data {
namespace {

using ::testing::HasSubstr;

// Text in which no two places look alike, longer than what is read at once.
std::string long_text() {
  std::string out;
  for (int i = 0; out.size() < 3 * TextBuffer::block_bytes; ++i) out += std::to_string(i) + ' ';
  return out;
}

TEST(TextBuffer, HoldsWhatHasNotBeenUsed) {
  SourceFiles files;
  const std::string whole = long_text();
  TextBuffer text(files.write("f", whole), Compression::none);
  EXPECT_EQ(text.from(0), "");
  ASSERT_TRUE(text.read_more());
  EXPECT_EQ(text.from(0), whole.substr(0, TextBuffer::block_bytes));
  EXPECT_EQ(text.from(100), whole.substr(100, TextBuffer::block_bytes - 100));
  ASSERT_TRUE(text.read_more());  // behind what is there
  EXPECT_TRUE(whole.substr(100).starts_with(text.from(100)));
  EXPECT_GT(text.from(100).size(), TextBuffer::block_bytes);
  while (text.read_more()) {
  }
  EXPECT_TRUE(text.at_end());
  EXPECT_FALSE(text.damaged());
  EXPECT_EQ(text.from(100), whole.substr(100));
  EXPECT_EQ(text.from(static_cast<std::int64_t>(whole.size())), "");
}

TEST(TextBuffer, GoesElsewhere) {
  SourceFiles files;
  const std::string whole = long_text();
  for (Compression compression : {Compression::none, Compression::gzip}) {
    TextBuffer text(files.write("f", whole, compression), compression);
    while (text.read_more()) {
    }
    for (std::int64_t offset : {std::int64_t{300'000}, std::int64_t{5}}) {
      text.seek(offset);
      EXPECT_FALSE(text.at_end());
      EXPECT_EQ(text.from(offset), "");
      while (text.read_more()) {
      }
      EXPECT_EQ(text.from(offset), whole.substr(static_cast<std::size_t>(offset)));
    }
  }
}

TEST(TextBuffer, HandsOutAllThatStandsBeforeDamage) {
  SourceFiles files;
  const std::string whole = long_text();
  std::string zipped = content_of(files.write("whole", whole, Compression::gzip));
  std::string path = files.write("cut", zipped.substr(0, zipped.size() / 2));
  TextBuffer text(path, Compression::gzip);
  std::string error;
  while (error.empty()) {
    EXPECT_FALSE(text.damaged());
    try {
      ASSERT_TRUE(text.read_more());
    } catch (const Error& e) {
      error = e.what();
    }
  }
  EXPECT_TRUE(text.damaged());
  EXPECT_FALSE(text.at_end());
  std::size_t got = text.from(0).size();
  EXPECT_TRUE(whole.starts_with(text.from(0)));
  EXPECT_THAT(error, ::testing::StartsWith(path + ": truncated"));
  EXPECT_THAT(error, HasSubstr(concat("which are ", got, " bytes uncompressed")));
}

}  // namespace
}  // namespace belfry::data
