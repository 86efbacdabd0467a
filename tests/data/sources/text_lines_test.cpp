#include "source_files.h"

namespace belfry::data {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Words lines(const Dataset& dataset) { return strings(dataset, "line"); }

class TextLines : public ::testing::Test {
 protected:
  // The lines of one file.
  Words lines_in(std::string_view text) const {
    return lines(text_lines({files_.write("f", text)}));
  }
  SourceFiles files_;
};

TEST_F(TextLines, HaveNoEnds) {
  EXPECT_EQ(lines_in("a\nbb\r\n\nlast"), (Words{"a", "bb", "", "last"}));
  EXPECT_EQ(lines_in("a\n"), Words{"a"});
  EXPECT_EQ(lines_in("\n"), Words{""});
  EXPECT_EQ(lines_in("\r\n\r\n"), (Words{"", ""}));
  EXPECT_EQ(lines_in(""), Words{});
  EXPECT_EQ(lines_in("a\rb\nc\r"), (Words{"a\rb", "c\r"}));  // alone it ends no line
  EXPECT_EQ(lines_in(std::string_view("a\0b\nc", 5)), (Words{std::string("a\0b", 3), "c"}));
}

TEST_F(TextLines, AreBytes) {
  Dataset data = text_lines({files_.write("f", "h\xc3\xa9\n")});
  InputStreamPtr stream = open(data);
  Features element;
  ASSERT_TRUE(stream->next(element));
  EXPECT_EQ(to_string(signature_of(element)), "line u8[3]");
}

TEST_F(TextLines, OfSeveralFilesFollowOneAnother) {
  std::string a = files_.write("a", "1\n2"), none = files_.write("none", ""),
              b = files_.write("b", "3\n");
  EXPECT_EQ(lines(text_lines({a, none, b})), (Words{"1", "2", "3"}));
  EXPECT_EQ(lines(text_lines({b, a})), (Words{"3", "1", "2"}));
  EXPECT_EQ(error_of([] { text_lines({}); }), "text_lines: there are no files");
}

TEST_F(TextLines, OfAMissingFileAreOneError) {
  std::string a = files_.write("a", "1\n2\n"), gone = files_ / "gone", b = files_.write("b", "3\n");
  Words got = lines(text_lines({a, gone, b}));
  ASSERT_EQ(got.size(), 4u);
  EXPECT_THAT(got[2], AllOf(StartsWith("error: "), HasSubstr(gone), HasSubstr("No such file")));
  EXPECT_EQ(got[3], "3");
  EXPECT_THAT(lines(text_lines({files_.path()})),
              ::testing::ElementsAre(StartsWith("error: cannot read")));  // a folder
}

// About 500 kB: more than is read at once, in lines of very different lengths.
Words long_lines() {
  PhiloxStream random(philox_key(3, "lines"));
  Words out;
  for (int i = 0; i < 45; ++i) {
    std::string line(random.below(i % 5 == 0 ? 3 : 25'000), ' ');
    for (char& c : line) c = static_cast<char>('a' + random.below(26));
    out.push_back(line);
  }
  out.insert(out.begin() + 20, std::string(300'000, 'x'));
  return out;
}

TEST_F(TextLines, MayBeLongerThanWhatIsReadAtOnce) {
  Words expected = long_lines();
  EXPECT_EQ(lines_in(join(expected, "\n")), expected);
  EXPECT_EQ(lines_in(join(expected, "\r\n") + "\r\n"), expected);
}

TEST_F(TextLines, MayBeCompressed) {
  Words expected = long_lines();
  std::string text = join(expected, "\n") + "\n";
  std::string zipped = files_.write("a.gz", text, Compression::gzip);
  std::string zlib = files_.write("a.z", text, Compression::zlib);
  EXPECT_EQ(lines(text_lines({zipped})), expected);
  EXPECT_EQ(lines(text_lines({zipped}, {.compression = Compression::gzip})), expected);
  EXPECT_EQ(lines(text_lines({zlib}, {.compression = Compression::zlib})), expected);
  expect_resumes(text_lines({zipped, zipped}) | digest("line"), 60, 5);
}

TEST_F(TextLines, AllOfThemBeforeDamageAreRead) {
  Words whole = long_lines();
  std::string zipped = content_of(files_.write("whole.gz", join(whole, "\n"), Compression::gzip));
  std::string cut = files_.write("cut.gz", zipped.substr(0, zipped.size() * 9 / 10));
  Dataset data = text_lines({cut, files_.write("b", "next\n")});
  Words got = lines(data);
  ASSERT_GT(got.size(), whole.size() / 2);
  EXPECT_EQ(got.back(), "next");
  EXPECT_THAT(got[got.size() - 2], StartsWith("error: " + cut + ": truncated"));
  got.resize(got.size() - 2);
  EXPECT_EQ(got, Words(whole.begin(), whole.begin() + std::ssize(got)));
  // No more than one line was lost: the rest is longer than what is missing.
  std::size_t bytes = 0;
  for (const std::string& line : got) bytes += line.size() + 1;
  EXPECT_GT(bytes, join(whole, "\n").size() * 8 / 10);
  expect_resumes(data | digest("line"), 60, 5);
  expect_skips(data, "line");
}

TEST_F(TextLines, ThatNeverEndAreAnError) {
  constexpr std::int64_t longest = std::int64_t{64} << 20;
  // Zeros take no space on the disk.
  std::string path = files_ / "zeros";
  {
    std::ofstream file(path, std::ios::binary);
    for (std::int64_t length : {longest, longest + 1}) {
      file.seekp(length, std::ios::cur);
      file << '\n';
    }
  }
  InputStreamPtr stream = open(text_lines({path, files_.write("b", "next")}));
  Features element;
  ASSERT_TRUE(stream->next(element));
  EXPECT_EQ(element.at("line").elements(), longest);
  EXPECT_EQ(
      next_string(*stream, element, "line"),
      "error: " + path
          + ": the line at byte 67108865 is longer than 67108864 bytes; is this a text file? (the rest of the file is left out) (at element 1, epoch 0)");
  EXPECT_EQ(strings(*stream, "line"), Words{"next"});
}

TEST_F(TextLines, Resume) {
  std::string a = files_.write("a", "1\r\n\n22\nlast"), b = files_.write("b", ""),
              c = files_.write("c", "3\n");
  expect_resumes(text_lines({a, b, files_ / "gone", c, a}), 60, 25, "line");
  expect_resumes(text_lines({a, c}) | shuffle(3), 60, 25, "line");
  expect_resumes(text_lines({a, c}) | repeat(2), 60, 25, "line");
}

TEST_F(TextLines, AreSkippedAndSharedByElement) {
  std::string a = files_.write("a", "1\n2\r\n\n4\n5"), b = files_.write("b", "6\n7\n8");
  expect_skips(text_lines({a, files_ / "gone", b}), "line");
}

TEST_F(TextLines, OfWholeFilesAreShared) {
  std::vector<std::string> paths;
  for (int i = 0; i < 5; ++i)
    paths.push_back(files_.write(concat("f", i), concat(i, "a\n", i, "b\n")));
  Dataset data = text_lines(paths);
  EXPECT_EQ(words_of_shard(data, 2, 0, "line"), (Words{"0a", "0b", "2a", "2b", "4a", "4b"}));
  EXPECT_EQ(words_of_shard(data, 2, 1, "line"), (Words{"1a", "1b", "3a", "3b"}));
}

}  // namespace
}  // namespace belfry::data
