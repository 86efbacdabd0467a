#include <filesystem>
#include <set>
#include <thread>

#include "belfry/data/sources/tokens.h"
#include "source_files.h"

namespace belfry::data {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Tokens = std::vector<std::int32_t>;

class TokenFiles : public ::testing::Test {
 protected:
  // The tokens first, first + 1, ..., `count` of them.
  std::string write(const std::string& name, std::int32_t first, std::int64_t count,
                    StoredToken stored = StoredToken::u16) const {
    Tokens tokens(static_cast<std::size_t>(count));
    std::iota(tokens.begin(), tokens.end(), first);
    TokenWriter writer(files_ / name, stored);
    writer.write(tokens);
    writer.close();
    return files_ / name;
  }
  SourceFiles files_;
};

Words tokens(const Dataset& data) { return words(data, 1000, "token"); }
Words labels(const Dataset& data) { return words(data, 1000, "label"); }

TEST_F(TokenFiles, AreRowsAndTheSameOneTokenFurtherOn) {
  std::string a = write("a", 0, 7), b = write("b", 100, 4), c = write("c", 200, 6);
  Dataset data = token_files({a, b, c}, {.length = 3});
  // The 6 of a is only a label; 204 and 205 of c are too few for a row.
  EXPECT_EQ(tokens(data), (Words{"0,1,2", "3,4,5", "100,101,102", "200,201,202"}));
  EXPECT_EQ(labels(data), (Words{"1,2,3", "4,5,6", "101,102,103", "201,202,203"}));
  EXPECT_EQ(data.cardinality(), 4);
  InputStreamPtr stream = open(data);
  Features row;
  ASSERT_TRUE(stream->next(row));
  EXPECT_EQ(to_string(signature_of(row)), "token i32[3], label i32[3]");
}

TEST_F(TokenFiles, RowsMayOverlapOrLieApart) {
  std::string a = write("a", 0, 8), b = write("b", 50, 4);
  EXPECT_EQ(tokens(token_files({a, b}, {.length = 3, .stride = 1})),
            (Words{"0,1,2", "1,2,3", "2,3,4", "3,4,5", "4,5,6", "50,51,52"}));
  EXPECT_EQ(tokens(token_files({a, b}, {.length = 3, .stride = 4})),
            (Words{"0,1,2", "4,5,6", "50,51,52"}));
  EXPECT_EQ(tokens(token_files({a}, {.length = 3, .stride = 5})), (Words{"0,1,2"}));
  EXPECT_EQ(tokens(token_files({a}, {.length = 1, .stride = std::int64_t{1} << 62})), (Words{"0"}));
}

TEST_F(TokenFiles, MayBeNamedByAPattern) {
  write("b-1.bin", 30, 3), write("b-0.bin", 10, 3), write("other", 0, 9);
  EXPECT_EQ(tokens(token_files(files_ / "b-*.bin", {.length = 2})), (Words{"10,11", "30,31"}));
  EXPECT_EQ(tokens(token_files((files_ / "b-?.bin").c_str(), {.length = 2})),
            (Words{"10,11", "30,31"}));
  EXPECT_EQ(error_of([&] { token_files(files_ / "c-*.bin"); }),
            "list_files: nothing matches " + (files_ / "c-*.bin"));
}

TEST_F(TokenFiles, HoldTokensIn2Or4Bytes) {
  std::string a = files_.write("a", std::string_view("\1\0\xff\xff\0\x80", 6));
  EXPECT_EQ(tokens(token_files({a}, {.length = 2})), (Words{"1,65535"}));
  EXPECT_EQ(labels(token_files({a}, {.length = 2})), (Words{"65535,32768"}));
  std::string b = files_.write("b", std::string_view("\1\0\0\0\xff\xff\xff\x7f\2\1\0\0", 12));
  for (StoredToken stored : {StoredToken::i32, StoredToken::u32})
    EXPECT_EQ(labels(token_files({b}, {.length = 2, .stored = stored})), (Words{"2147483647,258"}));
  std::string c = files_.write("c", std::string_view("\xff\xff\xff\xff\0\0\0\x80", 8));
  EXPECT_EQ(tokens(token_files({c}, {.length = 1, .stored = StoredToken::i32})), (Words{"-1"}));
}

TEST_F(TokenFiles, ATokenBeyondI32CostsItsRow) {
  std::string path = files_.write(
      "a", std::string_view("HEAD\1\0\0\0\2\0\0\0\0\0\0\x80\3\0\0\0\4\0\0\0\5\0\0\0\6\0\0\0", 32));
  Dataset data = token_files({path}, {.length = 2, .stored = StoredToken::u32, .header_bytes = 4});
  EXPECT_EQ(tokens(data),
            (Words{"error: " + path
                       + ": the token at byte 12 is 2147483648, expected at most "
                         "2147483647; is the file one of u32? (at element 0, epoch 0)",
                   "error: " + path
                       + ": the token at byte 12 is 2147483648, expected at most "
                         "2147483647; is the file one of u32? (at element 1, epoch 0)",
                   "4,5"}));
  expect_resumes(data, 60, 25, "token");
}

TEST_F(TokenFiles, ALongRowIsReadInParts) {
  for (StoredToken stored : {StoredToken::u16, StoredToken::u32, StoredToken::i32})
    for (std::int64_t length : {2047, 2048, 2049, 4095, 4096, 9000}) {
      std::string path = write("a", 7, 2 * length + 2, stored);
      InputStreamPtr stream = open(token_files({path}, {.length = length, .stored = stored}));
      Features row;
      for (std::int64_t first : {std::int64_t{7}, 7 + length}) {
        ASSERT_TRUE(stream->next(row));
        for (std::int64_t i = 0; i < length; ++i) {
          ASSERT_EQ(row.at("token").at(i), static_cast<double>(first + i)) << length;
          ASSERT_EQ(row.at("label").at(i), static_cast<double>(first + i + 1)) << length;
        }
      }
      EXPECT_FALSE(stream->next(row));
    }
}

TEST_F(TokenFiles, HaveRandomAccess) {
  std::string a = write("a", 0, 41), b = write("b", 1000, 21);
  Dataset data = token_files({a, b}, {.length = 2});
  EXPECT_TRUE(data.info().random_access);
  EXPECT_EQ(tokens(data | skip(19) | take(2)), (Words{"38,39", "1000,1001"}));
  Words all = tokens(data), shuffled = tokens(data | shuffle(30, {.seed = 3}));
  EXPECT_NE(shuffled, all);
  std::sort(shuffled.begin(), shuffled.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(shuffled, all);
  // A position is a place in the permutation: nothing is read again.
  Dataset endless = data | shuffle(30, {.seed = 3}) | repeat() | batch(4);
  expect_resumes(endless, 30, 10, "token");
  expect_resumes(data, 60, 25, "token");
  expect_skips(data | map([](Features in) {
                 return Features{{"line", array_of(text(in.at("token").at(0)))}};
               }),
               "line");
}

TEST_F(TokenFiles, AreSharedByRow) {
  std::string a = write("a", 0, 5), b = write("b", 10, 3);
  Dataset data = token_files({a, b}, {.length = 1});
  auto part = [&](const Dataset& d, int n, int i) {
    return words(*d.open({.pipelines = n, .pipeline = i}), 1000, "token");
  };
  EXPECT_EQ(part(data, 2, 0), (Words{"0", "2", "10"}));
  EXPECT_EQ(part(data, 2, 1), (Words{"1", "3", "11"}));
  EXPECT_EQ(part(data | with_options({.shard = ShardPolicy::off}), 2, 1).size(), 6u);
  std::multiset<std::string> both;
  for (int i : {0, 1})
    for (const std::string& word : part(data | shuffle(9), 2, i)) both.insert(word);
  EXPECT_EQ(both, (std::multiset<std::string>{"0", "1", "2", "3", "10", "11"}));
  EXPECT_THAT(error_of([&] { part(data | with_options({.shard = ShardPolicy::file}), 2, 0); }),
              HasSubstr("does not read a list of files; use ShardPolicy::data"));
}

// The files in another order each epoch, two of them at a time.
TEST_F(TokenFiles, AreShuffledByFile) {
  std::vector<std::string> paths;
  for (std::int32_t i = 0; i < 6; ++i) paths.push_back(write(concat("f", i), 100 * i, 5));
  Dataset data = files(paths) | shuffle(6, {.seed = 2})
                 | interleave(read_token_file({.length = 2}), {.cycle_length = 2}) | repeat(2);
  Words all = tokens(data);
  ASSERT_EQ(all.size(), 24u);
  Words first(all.begin(), all.begin() + 12), second(all.begin() + 12, all.end());
  EXPECT_NE(first, second);
  // Two files take turns: 2 rows of each, then the next two files.
  for (std::size_t i = 0; i < 24; i += 4) {
    auto file = [&](std::size_t row) { return std::stoi(all[i + row]) / 100; };
    EXPECT_EQ(file(0), file(2));
    EXPECT_EQ(file(1), file(3));
    EXPECT_NE(file(0), file(1));
  }
  for (Words* epoch : {&first, &second}) {
    Words expected = tokens(token_files(paths, {.length = 2}));
    std::sort(epoch->begin(), epoch->end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(*epoch, expected);
  }
  expect_resumes(data, 60, 25, "token");
  EXPECT_EQ(words(*(files(paths) | interleave(read_token_file({.length = 2})))
                       .open({.pipelines = 3, .pipeline = 1}),
                  1000, "token"),
            (Words{"100,101", "400,401", "102,103", "402,403"}));
}

TEST_F(TokenFiles, ElementsAreNamedByFileAndOffset) {
  std::string a = files_.write("a", "HE123456"), b = files_.write("b", "HEabcd");
  Dataset data = token_files({a, b}, {.length = 1, .header_bytes = 2})
                 | map([](Features) -> Features { fail("no"); }) | shuffle(3, {.seed = 1});
  Words got = tokens(data);
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, (Words{"error: no (at element 0, epoch 0, of " + a + " at byte 2)",
                        "error: no (at element 1, epoch 0, of " + a + " at byte 4)",
                        "error: no (at element 2, epoch 0, of " + b + " at byte 2)"}));
}

TEST_F(TokenFiles, ManyMoreThanMayBeOpenAreRead) {
  std::vector<std::string> paths;
  Words expected;
  for (std::int32_t i = 0; i < 150; ++i) {
    paths.push_back(write(concat("f", i), i, 2));
    expected.push_back(text(i));
  }
  auto open_files = [] {
    std::filesystem::directory_iterator all("/proc/self/fd"), end;
    return std::distance(all, end);
  };
  auto before = open_files();
  Dataset data = token_files(paths, {.length = 1});
  EXPECT_EQ(tokens(data | repeat(2)).size(), 300u);
  EXPECT_EQ(open_files(), before + 64);
  Words got[4];
  std::vector<std::thread> threads;
  for (Words& mine : got) threads.emplace_back([&] { mine = tokens(data); });
  for (std::thread& thread : threads) thread.join();
  for (const Words& mine : got) EXPECT_EQ(mine, expected);
  EXPECT_EQ(open_files(), before + 64);
}

TEST_F(TokenFiles, AFileThatIsCutShortCostsItsRows) {
  std::string a = write("a", 0, 9), b = write("b", 50, 3);
  Dataset data = token_files({a, b}, {.length = 2});
  std::filesystem::resize_file(a, 8);
  Words got = tokens(data);
  ASSERT_EQ(got.size(), 5u);
  EXPECT_EQ(got[0], "0,1");
  EXPECT_THAT(got[1],
              StartsWith("error: cannot read `" + a + "` at byte 8: it ends there, 2 bytes"));
  EXPECT_EQ(got[4], "50,51");
  std::filesystem::remove(a);
  Dataset again = token_files({b}, {.length = 2});
  std::filesystem::remove(b);
  EXPECT_THAT(tokens(again)[0], StartsWith("error: cannot read `" + b + "`: No such file"));
}

TEST_F(TokenFiles, RefuseFilesThatAreNone) {
  std::string odd = files_.write("odd", "12345"), empty = files_.write("empty", "");
  std::string wide = files_.write("wide", "HEAD123456");
  auto error = [](std::vector<std::string> paths, TokenFilesOptions options) {
    return error_of([&] { token_files(std::move(paths), std::move(options)); });
  };
  EXPECT_EQ(error({odd}, {.length = 1}),
            odd + ": ends at byte 5, inside the u16 token that begins at byte 4; is that how the "
                  "tokens are stored?");
  EXPECT_EQ(error({wide}, {.length = 1, .stored = StoredToken::i32, .header_bytes = 4}),
            wide + ": ends at byte 10, inside the i32 token that begins at byte 8; is that how the "
                   "tokens are stored?");
  EXPECT_EQ(error({odd}, {.length = 1, .header_bytes = 6}),
            odd + ": ends at byte 5, inside its header of 6 bytes");
  EXPECT_EQ(
      error({empty}, {.length = 4}),
      empty + ": ends at byte 0, behind 0 tokens; a row of 4 and the label behind it need 4 + 1");
  EXPECT_EQ(
      error({wide}, {.length = 5}),
      wide + ": ends at byte 10, behind 5 tokens; a row of 5 and the label behind it need 5 + 1");
  EXPECT_THAT(error({files_ / "gone"}, {}),
              StartsWith("cannot read `" + (files_ / "gone") + "`: "));
  EXPECT_THAT(error({files_.path()}, {}), HasSubstr("it is not a regular file"));
}

TEST_F(TokenFiles, RefuseOptionsThatCannotBe) {
  auto error = [](TokenFilesOptions options) {
    std::string out = error_of([&] { read_token_file(options); });
    EXPECT_EQ(error_of([&] { token_files({"gone"}, options); }), out);
    return out;
  };
  EXPECT_EQ(error({.length = 0}), "token_files: a row has 1 to 2^31 - 1 tokens, got 0");
  EXPECT_EQ(error({.length = std::int64_t{1} << 31}),
            "token_files: a row has 1 to 2^31 - 1 tokens, got 2147483648");
  EXPECT_EQ(error({.stride = -1}),
            "token_files: stride must be at least 1, or 0 for the length, got -1");
  EXPECT_EQ(error({.header_bytes = -4}), "token_files: a header has at least 0 bytes, got -4");
  EXPECT_EQ(error({.token = "x", .label = "x"}),
            "token_files: tokens and labels need names, and different ones; got `x` and `x`");
  EXPECT_EQ(error({.label = ""}),
            "token_files: tokens and labels need names, and different ones; got `token` and ``");
  EXPECT_EQ(error_of([] { token_files(std::vector<std::string>()); }),
            "token_files: there are no files");
}

TEST_F(TokenFiles, PositionsBelongToTheFilesAndRows) {
  std::string a = write("a", 0, 9), b = write("b", 0, 9), c = write("c", 0, 11);
  InputStreamPtr stream = open(token_files({a, b}, {.length = 2}));
  Features row;
  ASSERT_TRUE(stream->next(row));
  std::string saved = stream->save();
  auto restored = [&](std::vector<std::string> paths, TokenFilesOptions options) {
    return error_of([&] { open(token_files(std::move(paths), options))->restore(saved); });
  };
  EXPECT_EQ(restored({a, b}, {.length = 2}), "no error");
  std::filesystem::create_directory(files_ / "moved");
  for (const char* name : {"a", "b"})
    std::filesystem::copy_file(files_ / name, files_ / "moved/" + name);
  EXPECT_EQ(restored({files_ / "moved/a", files_ / "moved/b"}, {.length = 2}), "no error");
  for (const auto& paths : {Words{b, a}, Words{a, c}, Words{a}})
    EXPECT_THAT(restored(paths, {.length = 2}), HasSubstr("tokens.files"));
  // As many rows in all, but others.
  std::filesystem::create_directory(files_ / "other");
  EXPECT_THAT(restored({write("other/a", 0, 11), write("other/b", 0, 7)}, {.length = 2}),
              HasSubstr("tokens.files"));
  EXPECT_THAT(restored({a, b}, {.length = 2, .stride = 1}),
              HasSubstr("was the input pipeline or "));
  EXPECT_THAT(restored({a, b}, {.length = 1, .stride = 2}), HasSubstr("tokens.length"));
  saved = open(token_files({a}, {.length = 1, .stride = 4}))->save();
  EXPECT_THAT(restored({a}, {.length = 1, .stride = 5}), HasSubstr("tokens.stride"));
}

}  // namespace
}  // namespace belfry::data
