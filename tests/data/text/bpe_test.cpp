#include "belfry/data/text/bpe.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace belfry::data {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Bpe, SymbolsOfBytes) {
  EXPECT_EQ(symbols_of("a \n\x7f\xa0\xad\xff"),
            "a\u0120\u010a\u0121\u0142\u0143\u00ff");  // as in GPT-2's vocabulary
  EXPECT_EQ(bytes_of_symbols("\u0120a\u0143"), " a\xad");
  EXPECT_EQ(bytes_of_symbols("a b"), std::nullopt);  // a space is no symbol
  EXPECT_EQ(bytes_of_symbols("\u0144"), std::nullopt);
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(bytes_of_symbols(symbols_of(all)), all);
}

// Tokens 0 to 3 are a, b, c and d.
Bpe::Options letters(std::vector<BpeMerge> merges) {
  Bpe::Options out{.tokens_of_bytes = {}, .merges = std::move(merges)};
  out.tokens_of_bytes.fill(-1);
  for (int i = 0; i < 4; ++i) out.tokens_of_bytes[static_cast<std::size_t>('a' + i)] = i;
  return out;
}

std::vector<std::int32_t> encode(const Bpe::Options& options, std::string_view word) {
  Bpe::Scratch scratch;
  std::vector<std::int32_t> out;
  Bpe(options).encode(word, scratch, out);
  return out;
}

TEST(Bpe, TheFirstMergeOfTheListIsDoneFirst) {
  EXPECT_THAT(encode(letters({{0, 1, 10}, {0, 0, 11}}), "aab"), ElementsAre(0, 10));
  EXPECT_THAT(encode(letters({{0, 0, 11}, {0, 1, 10}}), "aab"), ElementsAre(11, 1));
  EXPECT_THAT(encode(letters({{1, 2, 10}, {0, 10, 11}, {11, 3, 12}}), "abcd"), ElementsAre(12));
  // b and c are merged before a and b can be.
  EXPECT_THAT(encode(letters({{1, 2, 10}, {0, 1, 11}, {11, 2, 12}}), "abc"), ElementsAre(0, 10));
}

TEST(Bpe, TheFirstOfSeveralPlacesIsMergedFirst) {
  EXPECT_THAT(encode(letters({{0, 0, 10}}), "aaa"), ElementsAre(10, 0));
  EXPECT_THAT(encode(letters({{0, 0, 10}, {10, 0, 11}}), "aaaa"), ElementsAre(10, 10));
  EXPECT_THAT(encode(letters({}), "abc"), ElementsAre(0, 1, 2));
  EXPECT_THAT(encode(letters({}), ""), IsEmpty());
}

TEST(Bpe, OfAPairThatIsThereTwiceTheLastRankCounts) {
  EXPECT_THAT(encode(letters({{0, 1, 10}, {1, 2, 11}, {0, 1, 10}}), "abc"), ElementsAre(0, 11));
}

TEST(Bpe, BytesWithoutATokenAreUnknown) {
  Bpe::Options options = letters({{0, 1, 10}});
  EXPECT_THAT(encode(options, "axyb"), ElementsAre(10));
  EXPECT_THAT(encode(options, "xy"), IsEmpty());
  options.unknown = 9;
  EXPECT_THAT(encode(options, "axybz"), ElementsAre(0, 9, 9, 1, 9));
  options.fuse_unknown = true;
  EXPECT_THAT(encode(options, "axybz"), ElementsAre(0, 9, 1, 9));
}

TEST(Bpe, LongWords) {
  Bpe::Options options = letters({{0, 0, 10}, {10, 10, 11}});
  EXPECT_EQ(encode(options, std::string(400, 'a')), std::vector<std::int32_t>(100, 11));
  auto odd = encode(options, std::string(403, 'a'));
  ASSERT_EQ(odd.size(), 102u);
  EXPECT_EQ(odd[99], 11);
  EXPECT_EQ(odd[100], 10);
  EXPECT_EQ(odd[101], 0);
  EXPECT_EQ(encode(options, std::string(1'000'000, 'a')).size(), 250'000u);
}

// The promise of encode(), kept literally.
std::vector<std::int32_t> literally(const std::vector<BpeMerge>& merges, std::string_view word) {
  std::vector<std::int32_t> out;
  for (char c : word) out.push_back(c - 'a');
  for (bool found = true; std::exchange(found, false);) {
    for (const BpeMerge& merge : merges) {
      for (std::size_t i = 0; i + 1 < out.size() && !found; ++i) {
        if (out[i] != merge.left || out[i + 1] != merge.right) continue;
        out[i] = merge.token;
        out.erase(out.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        found = true;
      }
      if (found) break;
    }
  }
  return out;
}

TEST(Bpe, WordsOfAnyLengthAreEncodedAlike) {
  std::mt19937 random(1);
  for (int vocabulary = 0; vocabulary < 30; ++vocabulary) {
    std::vector<std::string> names{"a", "b", "c", "d"};
    std::vector<BpeMerge> merges;
    for (int i = 0; i < 25; ++i) {
      const auto left = random() % names.size(), right = random() % names.size();
      const std::string name = names[left] + names[right];
      auto known = std::find(names.begin(), names.end(), name);
      const auto token = static_cast<std::int32_t>(known - names.begin());
      if (known == names.end()) names.push_back(name);
      auto same = [&](const BpeMerge& m) {
        return m.left == static_cast<int>(left) && m.right == static_cast<int>(right);
      };
      if (std::any_of(merges.begin(), merges.end(), same)) continue;
      merges.push_back({static_cast<int>(left), static_cast<int>(right), token});
    }
    const Bpe::Options options = letters(merges);
    for (std::size_t length : {1, 2, 5, 20, 47, 48, 49, 50, 120}) {
      std::string word;
      for (std::size_t i = 0; i < length; ++i)
        word += static_cast<char>('a' + random() % (vocabulary % 4 + 1));
      EXPECT_EQ(encode(options, word), literally(merges, word)) << word;
    }
  }
}

}  // namespace
}  // namespace belfry::data
