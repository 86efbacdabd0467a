#include "belfry/data/text/tokenizer.h"

#include <gmock/gmock.h>

#include <thread>

#include "../../framework/base/error_of.h"
#include "../../framework/base/temporary_folder.h"
#include "belfry/framework/base/file.h"
#include "small_tokenizer.h"

namespace belfry::data {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Tokens = std::vector<std::int32_t>;

TEST(Tokenizer, Words) {
  const Tokenizer t = small();
  EXPECT_THAT(t.encode("hello world"), ElementsAre(11, 14, 15));
  EXPECT_THAT(t.encode("helo  wow"), ElementsAre(9, 2, 3, 4, 12, 3, 5));
  EXPECT_THAT(t.encode("lll"), ElementsAre(8, 2));
  EXPECT_THAT(t.encode(""), IsEmpty());
  EXPECT_EQ(t.decode(Tokens{11, 14, 15}), "hello world");
  EXPECT_EQ(t.decode({}), "");
}

TEST(Tokenizer, AddedTokens) {
  const Tokenizer t = small();
  EXPECT_THAT(t.encode("hello<end> world"), ElementsAre(11, 18, 14, 15));
  EXPECT_EQ(t.decode(Tokens{11, 18}), "hello<end>");
  EXPECT_EQ(t.decode(Tokens{11, 18}, {.skip_special_tokens = true}), "hello");
  EXPECT_EQ(t.size(), 19);
  EXPECT_EQ(t.token("<end>"), 18);
  EXPECT_EQ(t.token("\u0120w"), 12);
  EXPECT_EQ(t.token(" w"), std::nullopt);
  EXPECT_TRUE(t.is_special(18));
  EXPECT_FALSE(t.is_special(17));
  const Tokenizer plain = small("\"special\": true", "\"special\": false");
  EXPECT_FALSE(plain.is_special(18));
  EXPECT_THAT(plain.encode("<end>"), ElementsAre(18));
}

TEST(Tokenizer, AddedTokensOfTheVocabulary) {
  const Tokenizer t = small(R"("id": 18, "content": "<end>")", R"("id": 8, "content": "ll")");
  EXPECT_THAT(t.encode("hello"), ElementsAre(9, 8, 3));
  EXPECT_TRUE(t.is_special(8));
  EXPECT_EQ(t.size(), 18);
}

TEST(Tokenizer, BytesOfTokensMayBePartsOfCharacters) {
  const Tokenizer t = small();
  EXPECT_THAT(t.encode("\u00e9"), ElementsAre(16, 17));
  EXPECT_EQ(t.bytes(16), "\xc3");
  EXPECT_EQ(t.bytes(12), " w");
  EXPECT_EQ(t.bytes(18), "<end>");
  EXPECT_EQ(t.decode(Tokens{16, 17}), "\u00e9");
  EXPECT_EQ(t.decode(Tokens{16, 0, 17}), "\ufffdh\ufffd");
}

TEST(Tokenizer, NumbersThatAreNoTokens) {
  const Tokenizer t = small("\"id\": 18", "\"id\": 20");
  EXPECT_EQ(t.size(), 21);
  EXPECT_EQ(error_of([&] {
              t.decode(Tokens{11, 19});
            }),
            "tokenizer: there is no token 19; they are below 21");
  for (std::int32_t token : {-1, 21, std::numeric_limits<std::int32_t>::max()})
    EXPECT_EQ(error_of([&] { t.bytes(token); }),
              concat("tokenizer: there is no token ", token, "; they are below 21"));
  EXPECT_EQ(error_of([&] { t.is_special(18); }),
            "tokenizer: there is no token 18; they are below 21");
}

TEST(Tokenizer, TextMustBeUtf8) {
  EXPECT_EQ(error_of([] { small().encode("hell\xff"); }),
            "tokenizer: the text is not UTF-8 at byte 4 of 5; convert it first");
}

TEST(Tokenizer, PrefixSpace) {
  const Tokenizer t = small("\"add_prefix_space\": false", "\"add_prefix_space\": true");
  EXPECT_THAT(t.encode("world"), ElementsAre(14, 15));
  EXPECT_THAT(t.encode(" world"), ElementsAre(14, 15));
  EXPECT_THAT(t.encode("<end>world"), ElementsAre(18, 14, 15));
  EXPECT_THAT(t.encode(""), IsEmpty());
}

TEST(Tokenizer, WithoutWordsMergesSpanSpaces) {
  const Tokenizer t = small("\"trim_offsets\": true", "\"use_regex\": false");
  EXPECT_THAT(t.encode("w wor"), ElementsAre(5, 14));
  const Tokenizer merged = Tokenizer::from_json(
      changed(R"("l l", "h e")", R"("o Ġ", "h e")",
              changed(R"("ll": 8)", R"("ll": 8, "oĠ": 19)",
                      changed("\"trim_offsets\": true", "\"use_regex\": false"))));
  EXPECT_THAT(merged.encode("o w"), ElementsAre(19, 5));
}

TEST(Tokenizer, SequencesOfSplitAndByteLevel) {
  const std::string split =
      R"json({"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex":
 "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
 "behavior": "Isolated", "invert": false},
 {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]})json";
  const std::string whole =
      R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true})";
  // "'w" is one word by Llama 3, and two by GPT-2.
  const std::string json = changed(R"("©": 17)", R"("'": 17, "'w": 19)",
                                   changed(R"("l l")", R"("' w")", changed(whole, split)));
  EXPECT_THAT(Tokenizer::from_json(json).encode("'wo"), ElementsAre(19, 3));
  EXPECT_THAT(Tokenizer::from_json(changed(split, whole, json)).encode("'wo"),
              ElementsAre(17, 5, 3));
  EXPECT_THAT(Tokenizer::from_json(
                  changed("\"Isolated\", \"invert\": false", "\"Removed\", \"invert\": true", json))
                  .encode("'wo"),
              ElementsAre(19, 3));
}

TEST(Tokenizer, WordsOfTheVocabularyMayGoBeforeMerges) {
  // No merge makes "low"; by merges alone "hell" goes before "low".
  const std::string with = changed(R"("ll": 8)", R"("ll": 8, "low": 19)");
  EXPECT_THAT(Tokenizer::from_json(with).encode("low"), ElementsAre(2, 3, 5));
  const Tokenizer t =
      Tokenizer::from_json(changed("\"ignore_merges\": false", "\"ignore_merges\": true", with));
  EXPECT_THAT(t.encode("low"), ElementsAre(19));
  EXPECT_THAT(t.encode("low low"), ElementsAre(19, 4, 2, 3, 5));
}

TEST(Tokenizer, UnknownBytes) {
  EXPECT_THAT(small().encode("heXYo"), ElementsAre(9, 3));
  const std::string unknown = changed(R"("unk_token": null)", R"("unk_token": "d")");
  EXPECT_THAT(Tokenizer::from_json(unknown).encode("heXYo"), ElementsAre(9, 7, 7, 3));
  EXPECT_THAT(Tokenizer::from_json(changed("\"fuse_unk\": false", "\"fuse_unk\": true", unknown))
                  .encode("heXYo"),
              ElementsAre(9, 7, 3));
}

TEST(Tokenizer, Normalization) {
  const std::string nfc = changed(R"("normalizer": null)", R"("normalizer": {"type": "NFC"})");
  EXPECT_THAT(Tokenizer::from_json(nfc).encode("he\u0301"), ElementsAre(0, 16, 17));
  EXPECT_THAT(small().encode("he\u0301"), ElementsAre(9));  // the mark has no token
  // A token is looked for in the text as it stands, or else after normalization.
  const std::string stands = changed("<end>", "e\u0301", nfc);
  EXPECT_THAT(Tokenizer::from_json(stands).encode("e\u0301 \u00e9"), ElementsAre(18, 4, 16, 17));
  EXPECT_EQ(Tokenizer::from_json(stands).bytes(18), "e\u0301");
  const Tokenizer later =
      Tokenizer::from_json(changed("\"normalized\": false", "\"normalized\": true", stands));
  EXPECT_THAT(later.encode("e\u0301 \u00e9"), ElementsAre(18, 4, 18));
  EXPECT_EQ(later.bytes(18), "\xe9");  // "é" is the symbol of this byte
}

TEST(Tokenizer, SpecialTokensAroundAText) {
  const std::string processor = R"("post_processor": {"type": "Sequence", "processors": [
 {"type": "ByteLevel"}, {"type": "TemplateProcessing", "single": [
  {"SpecialToken": {"id": "B", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
  {"SpecialToken": {"id": "<end>", "type_id": 0}}], "pair": [],
  "special_tokens": {"B": {"id": "B", "ids": [3, 7], "tokens": ["o", "d"]},
                     "<end>": {"id": "<end>", "ids": [18], "tokens": ["<end>"]}}}]})";
  const Tokenizer t = small(R"("post_processor": null)", processor);
  EXPECT_THAT(t.encode("hello"), ElementsAre(11));
  EXPECT_THAT(t.encode("hello", {.add_special_tokens = true}), ElementsAre(3, 7, 11, 18));
  EXPECT_THAT(t.encode("", {.add_special_tokens = true}), ElementsAre(3, 7, 18));
  EXPECT_THAT(small().encode("hello", {.add_special_tokens = true}), ElementsAre(11));
  const Tokenizer other = small(R"("post_processor": null)",
                                R"("post_processor": {"type": "RobertaProcessing", "x": 1})");
  EXPECT_THAT(other.encode("hello"), ElementsAre(11));
  EXPECT_EQ(error_of([&] { other.encode("hello", {.add_special_tokens = true}); }),
            "tokenizer: the file's post_processor is of type `RobertaProcessing`, which is not "
            "supported; add the special tokens to those of the text");
}

TEST(Tokenizer, FilesAndCopies) {
  TemporaryFolder folder;
  small().save(folder / "tokenizer.json");
  EXPECT_EQ(read_file(folder / "tokenizer.json"), small_json());
  EXPECT_EQ(folder.names(), std::set<std::string>{"tokenizer.json"});
  std::optional<Tokenizer> copy;
  {
    const Tokenizer loaded = Tokenizer::load(folder / "tokenizer.json");
    copy = loaded;
  }
  EXPECT_THAT(copy->encode("hello"), ElementsAre(11));
  EXPECT_EQ(copy->json(), small_json());
  write_file_atomically(folder / "bad.json", "{]");
  EXPECT_EQ(error_of([&] {
              Tokenizer::load(folder / "bad.json");
            }).find(folder / "bad.json" + ": not JSON: line 1, column 2: "),
            0u);
}

TEST(Tokenizer, ThreadsShareOne) {
  const Tokenizer t = small();
  std::vector<Tokens> found(4);
  std::vector<std::thread> threads;
  for (Tokens& out : found)
    threads.emplace_back([&out, &t] {
      const Tokenizer own = t;
      for (int i = 0; i < 200; ++i) {
        out = t.encode("hello<end> world \u00e9" + std::string(100, 'l'));
        if (own.decode(out) != "hello<end> world \u00e9" + std::string(100, 'l')) out.clear();
      }
    });
  for (std::thread& thread : threads) thread.join();
  Tokens expected{11, 18, 14, 15, 4, 16, 17};
  expected.insert(expected.end(), 50, 8);
  for (const Tokens& out : found) EXPECT_EQ(out, expected);
}

}  // namespace
}  // namespace belfry::data
