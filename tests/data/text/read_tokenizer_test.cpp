// Files that are wrong, or not supported.

#include <gmock/gmock.h>

#include "../../framework/base/error_of.h"
#include "small_tokenizer.h"

namespace belfry::data {
namespace {

std::string error(const std::string& from, const std::string& to) {
  return error_of([&] { Tokenizer::from_json(changed(from, to), "t.json"); });
}

TEST(ReadTokenizer, Json) {
  EXPECT_EQ(error(small_json(), ""),
            "t.json: not JSON: line 1, column 1: syntax error while parsing value - "
            "unexpected end of input; expected '[', '{', or a literal");
  EXPECT_EQ(error(small_json(), "[1, 2]"), "t.json: it must be an object, got a list of 2");
  EXPECT_EQ(error(small_json(), "{}"), "t.json: `model` must be an object, got null");
  EXPECT_EQ(error("\"o\": 3", "\"h\": 3"), "t.json: \"h\" is given twice");
  EXPECT_EQ(error("\"padding\": null", "\"version\": \"1.0\""),
            "t.json: \"version\" is given twice");
  EXPECT_EQ(error("\"padding\": null",
                  "\"padding\": " + std::string(100'000, '[') + std::string(100'000, ']')),
            "t.json: nested more than 32 deep");
  EXPECT_THAT(error("<end>", "<\xff>"),
              testing::StartsWith("t.json: not JSON: line 2, column 43: "));
}

TEST(ReadTokenizer, Vocabulary) {
  EXPECT_EQ(error("\"o\": 3", "\"o\": -3"),
            "t.json: `model.vocab[\"o\"]` must be a whole number from 0 to 4194303, got -3");
  EXPECT_EQ(error("\"o\": 3", "\"o\": 4194304"),
            "t.json: `model.vocab[\"o\"]` must be a whole number from 0 to 4194303, got 4194304");
  EXPECT_EQ(error("\"o\": 3", "\"o\": 99999999999999999999"),
            "t.json: `model.vocab[\"o\"]` must be a whole number from 0 to 4194303, got 1e+20");
  EXPECT_EQ(error("\"o\": 3", "\"o\": 3.0"),
            "t.json: `model.vocab[\"o\"]` must be a whole number from 0 to 4194303, got 3.0");
  EXPECT_EQ(error("\"o\": 3", "\"o\": \"3\""),
            "t.json: `model.vocab[\"o\"]` must be a whole number from 0 to 4194303, got \"3\"");
  EXPECT_EQ(error("\"o\": 3", "\"o\": 2"),
            "t.json: `model.vocab[\"o\"]` must be the number of one token only, got 2");
  EXPECT_EQ(error("\"vocab\": {", "\"vocab\": [], \"vocabulary\": {"),
            "t.json: `model.vocab` must be an object, got a list of 0");
}

TEST(ReadTokenizer, Merges) {
  EXPECT_EQ(
      error("\"h e\"", "\"h f\""),
      "t.json: `model.merges[1]` must be of tokens in the vocabulary, which has no \"f\", got "
      "\"h f\"");
  EXPECT_EQ(error("\"h e\"", "\"e h\""),
            "t.json: `model.merges[1]` must be of tokens in the vocabulary, which has no \"eh\", "
            "got \"e h\"");
  for (std::string bad : {"\"he\"", "\"h e l\"", "[\"h\"]", "[\"h\", \"e\", \"l\"]"})
    EXPECT_THAT(error("\"h e\"", bad),
                testing::StartsWith("t.json: `model.merges[1]` must be two tokens, as [\"a\", "
                                    "\"b\"] or \"a b\", got "));
  EXPECT_EQ(error("\"h e\"", "[\"h\", 5]"), "t.json: `model.merges[1][1]` must be a string, got 5");
  EXPECT_EQ(error("\"h e\"", "7"), "t.json: `model.merges[1]` must be a string, got 7");
  EXPECT_EQ(error("\"merges\": [", "\"merges\": null, \"more\": ["),
            "t.json: `model.more` is not supported; known are type, dropout, unk_token, "
            "continuing_subword_prefix, end_of_word_suffix, fuse_unk, byte_fallback, "
            "ignore_merges, vocab, merges");
}

TEST(ReadTokenizer, Models) {
  EXPECT_EQ(error("\"BPE\"", "\"Unigram\""),
            "t.json: `model.type` must be \"BPE\" (others are not supported), got \"Unigram\"");
  EXPECT_EQ(error("\"dropout\": null", "\"dropout\": 0.1"),
            "t.json: `model.dropout` must be null (a tokenizer that draws its merges by chance is "
            "not supported), got 0.1");
  EXPECT_EQ(error("\"dropout\": null", "\"dropout\": 0.0"), "no error");
  EXPECT_EQ(error("\"continuing_subword_prefix\": \"\"", "\"continuing_subword_prefix\": \"##\""),
            "t.json: `model.continuing_subword_prefix` must be null (it is not supported), got "
            "\"##\"");
  EXPECT_EQ(error("\"end_of_word_suffix\": null", "\"end_of_word_suffix\": \"</w>\""),
            "t.json: `model.end_of_word_suffix` must be null (it is not supported), got \"</w>\"");
  EXPECT_EQ(error("\"byte_fallback\": false", "\"byte_fallback\": true"),
            "t.json: `model.byte_fallback` must be false (it is not supported), got true");
  EXPECT_EQ(error("\"unk_token\": null", "\"unk_token\": \"<unk>\""),
            "t.json: `model.unk_token` must be a token in the vocabulary, or null, got \"<unk>\"");
  EXPECT_EQ(error("\"fuse_unk\": false", "\"fuse_unk\": 0"),
            "t.json: `model.fuse_unk` must be true or false, got 0");
}

TEST(ReadTokenizer, Parts) {
  EXPECT_EQ(error("\"1.0\"", "\"2.0\""), "t.json: `version` must be \"1.0\", got \"2.0\"");
  EXPECT_EQ(error("\"truncation\": null", "\"truncation\": {\"max_length\": 5}"),
            "t.json: `truncation` must be null (cut and pad the tokens in the program instead), "
            "got an object of 1");
  EXPECT_EQ(error("\"padding\": null", "\"pad\": null"),
            "t.json: `pad` is not supported; known are version, truncation, padding, added_tokens, "
            "normalizer, pre_tokenizer, post_processor, decoder, model");
  EXPECT_EQ(error("\"normalizer\": null", "\"normalizer\": {\"type\": \"NFKC\"}"),
            "t.json: `normalizer.type` must be \"NFC\", or the normalizer null (others are not "
            "supported), got \"NFKC\"");
  EXPECT_EQ(error("\"decoder\": {\"type\": \"ByteLevel\"}", "\"decoder\": null"),
            "t.json: `decoder` must be of type ByteLevel (others are not supported), got null");
  EXPECT_EQ(error("\"decoder\": {\"type\": \"ByteLevel\"}", "\"decoder\": {\"type\": \"BPE\"}"),
            "t.json: `decoder` must be of type ByteLevel (others are not supported), got an object "
            "of 1");
}

TEST(ReadTokenizer, PreTokenizers) {
  const std::string whole =
      R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true})";
  const std::string split =
      R"({"type": "Split", "pattern": {"Regex": "\\s+"}, "behavior": "Isolated", "invert": false})";
  auto sequence = [&](const std::string& parts) {
    return error(whole, "{\"type\": \"Sequence\", \"pretokenizers\": [" + parts + "]}");
  };
  EXPECT_EQ(error(whole, "null"),
            "t.json: `pre_tokenizer` must be ByteLevel, or a Sequence of Split and ByteLevel "
            "(others are not supported), got null");
  EXPECT_EQ(error(whole, "{\"type\": \"Whitespace\"}"),
            "t.json: `pre_tokenizer.type` must be ByteLevel, or a Sequence of Split and ByteLevel "
            "(others are not supported), got \"Whitespace\"");
  EXPECT_EQ(error("\"trim_offsets\": true", "\"trim\": true"),
            "t.json: `pre_tokenizer.trim` is not supported; known are type, add_prefix_space, "
            "trim_offsets, use_regex");
  EXPECT_EQ(sequence(split),
            "t.json: `pre_tokenizer.pretokenizers` must be Split and ByteLevel (else is not "
            "supported), got a list of 1");
  EXPECT_EQ(sequence(split + "," + whole),
            "t.json: `pre_tokenizer.pretokenizers[0].pattern.Regex` must be that of GPT-2, Llama 3 "
            "or Qwen2 (others are not supported), got \"\\\\s+\"");
  EXPECT_EQ(sequence(whole + "," + whole),
            "t.json: `pre_tokenizer.pretokenizers[0].type` must be \"Split\" (else is not "
            "supported), got \"ByteLevel\"");
  EXPECT_EQ(sequence(split + "," + split),
            "t.json: `pre_tokenizer.pretokenizers[1].type` must be \"ByteLevel\" (else is not "
            "supported), got \"Split\"");
}

TEST(ReadTokenizer, WhatStandsBehindSplit) {
  const std::string gpt2 =
      R"({"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex":
 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"},
 "behavior": "Isolated", "invert": false}, {"type": "ByteLevel", "add_prefix_space": false,
 "use_regex": false}]})";
  const std::string json =
      changed(R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true})", gpt2);
  auto error = [&](const std::string& from, const std::string& to) {
    return error_of([&] { Tokenizer::from_json(changed(from, to, json)); });
  };
  EXPECT_EQ(error("Isolated", "Isolated"), "no error");
  EXPECT_EQ(error("\"add_prefix_space\": false", "\"add_prefix_space\": true"),
            "tokenizer.json: `pre_tokenizer.pretokenizers[1].add_prefix_space` must be false "
            "behind Split (else is not supported), got true");
  EXPECT_EQ(error("\"use_regex\": false", "\"use_regex\": true"),
            "tokenizer.json: `pre_tokenizer.pretokenizers[1].use_regex` must be false behind Split "
            "(else is not supported), got true");
  for (std::string behaviour : {"Removed", "Contiguous", "MergedWithNext"})
    EXPECT_EQ(error("Isolated", behaviour),
              "tokenizer.json: `pre_tokenizer.pretokenizers[0].behavior` must be \"Isolated\" "
              "(others are not supported), got \""
                  + behaviour + "\"");
}

TEST(ReadTokenizer, AddedTokens) {
  EXPECT_EQ(error("\"id\": 18", "\"id\": 3"),
            "t.json: `added_tokens[0].id` must be the number of one token only, got 3");
  EXPECT_EQ(error("\"id\": 18", "\"id\": -1"),
            "t.json: `added_tokens[0].id` must be a whole number from 0 to 4194303, got -1");
  EXPECT_EQ(error("<end>", "hello"),
            "t.json: `added_tokens[0].id` must be 11, as in the vocabulary, got 18");
  EXPECT_EQ(error("<end>", ""),
            "t.json: `added_tokens[0].content` must be 1 to 1024 bytes, got \"\"");
  EXPECT_EQ(error("<end>", std::string(1024, 'a')), "no error");
  EXPECT_EQ(error("<end>", std::string(1025, 'a')),
            "t.json: `added_tokens[0].content` must be 1 to 1024 bytes, got \""
                + std::string(59, 'a') + "...");
  EXPECT_EQ(error("\"added_tokens\": [", R"("added_tokens": [{"id": 20, "content": "<end>"},)"),
            "t.json: `added_tokens[1].content` must be there once only, got \"<end>\"");
  EXPECT_EQ(error("\"lstrip\"", "\"strip\""),
            "t.json: `added_tokens[0].strip` is not supported; known are id, content, "
            "single_word, lstrip, rstrip, normalized, special");
  EXPECT_EQ(error("\"lstrip\": false", "\"lstrip\": \"no\""),
            "t.json: `added_tokens[0].lstrip` must be true or false, got \"no\"");
}

constexpr const char* text_of_template = R"({"Sequence": {"id": "A", "type_id": 0}})";

TEST(ReadTokenizer, Templates) {
  auto with = [](const std::string& single) {
    return error("\"post_processor\": null",
                 "\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [" + single
                     + R"(], "pair": [], "special_tokens": {"a": {"ids": [18]}, "b": {"ids": [19]},
                          "c": {"ids": [-1]}}})");
  };
  const std::string text = text_of_template;
  EXPECT_EQ(with(R"({"SpecialToken": {"id": "a"}})"), "no error");
  EXPECT_EQ(with(text + "," + text),
            "t.json: `post_processor.single[1]` must be there once only, got an object of 1");
  EXPECT_EQ(with(R"({"SpecialToken": {"id": "b"}})"),
            "t.json: `post_processor.special_tokens.b.ids[0]` must be a token, got 19");
  EXPECT_EQ(with(R"({"SpecialToken": {"id": "c"}})"),
            "t.json: `post_processor.special_tokens.c.ids[0]` must be a whole number from 0 to "
            "4194303, got -1");
  EXPECT_EQ(with(R"({"SpecialToken": {"id": "d"}})"),
            "t.json: `post_processor.special_tokens.d` must be an object, got null");
  EXPECT_EQ(with("7"), "t.json: `post_processor.single[0]` must be an object, got 7");
}

// Pieces of a template name lists of tokens: a small file could ask for any number of them.
TEST(ReadTokenizer, TemplatesOfManyTokens) {
  auto with = [](int pieces) {
    std::string ids = "18", single = text_of_template;
    for (int i = 1; i < 512; ++i) ids += ", 18";
    for (int i = 0; i < pieces; ++i) single += R"(, {"SpecialToken": {"id": "a"}})";
    return changed("\"post_processor\": null",
                   "\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [" + single
                       + R"(], "pair": [], "special_tokens": {"a": {"ids": [)" + ids + "]}}}");
  };
  const std::vector<std::int32_t> tokens =
      Tokenizer::from_json(with(2)).encode("", {.add_special_tokens = true});
  EXPECT_EQ(tokens, std::vector<std::int32_t>(1024, 18));
  EXPECT_EQ(error_of([&] { Tokenizer::from_json(with(3), "t.json"); }),
            "t.json: `post_processor.special_tokens.a.ids[0]` must be one of at most 1024 around a "
            "text, got 18");
}

// Each byte of a file in turn is another one: the file is a tokenizer or an Error that names it.
TEST(ReadTokenizer, FilesWithAByteChanged) {
  const std::string json = small_json();
  int tokenizers = 0, errors = 0;
  for (std::size_t at = 0; at < json.size(); ++at) {
    for (char byte : {static_cast<char>(json[at] ^ 1), static_cast<char>(json[at] ^ 0x20), '9', '"',
                      ' ', ']', '-', '\xff'}) {
      std::string bad = json;
      bad[at] = byte;
      try {
        const Tokenizer t = Tokenizer::from_json(bad, "t.json");
        const auto tokens = t.encode("hello world<end> \u00e9\n", {.add_special_tokens = true});
        for (std::int32_t token : tokens) ASSERT_LT(token, t.size());
        EXPECT_TRUE(is_utf8(t.decode(tokens)));
        ++tokenizers;
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), testing::StartsWith("t.json: "));
        ++errors;
      }
    }
  }
  EXPECT_GT(tokenizers, 300);
  EXPECT_GT(errors, 5000);
}

// A file that ends early.
TEST(ReadTokenizer, FilesThatAreCutOff) {
  const std::string json = small_json();
  for (std::size_t size = 0; size < json.size(); ++size)
    EXPECT_THAT(error(json, json.substr(0, size)), testing::StartsWith("t.json: not JSON: "));
}

}  // namespace
}  // namespace belfry::data
