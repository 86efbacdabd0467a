// The parts of a tokenizer.json, and what of them is not supported.

#include <algorithm>

#include "belfry/data/text/json_place.h"
#include "belfry/data/text/normalize.h"
#include "belfry/data/text/tokenizer_content.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/json_text.h"

namespace belfry::data {
namespace {

using Words = std::vector<TokenizerContent::Word>;
using Kind = TokenizerContent::Kind;

const std::string& type_of(const JsonPlace& part) { return part["type"].text(); }

// Gives a number to a name: the bytes are those of the symbols, as the decoder ByteLevel has it,
// and else those of the name.
void add_word(Words& words, const JsonPlace& at, std::int32_t token, const std::string& name,
              Kind kind) {
  const std::size_t index = token;
  if (words.size() <= index) words.resize(index + 1);
  auto& word = words[index];
  if (word.kind != Kind::none) at.refuse("the number of one token only");
  word = {kind, bytes_of_symbols(name).value_or(name)};
}

TokensByName read_vocabulary(const JsonPlace& at, Words& words) {
  const auto members = at.members();
  TokensByName out;
  out.reserve(members.size());
  for (const auto& [name, number] : members) {
    const std::int32_t token = number.below(most_tokens);
    const std::string& key = out.emplace(name, token).first->first;
    add_word(words, number, token, key, Kind::plain);
  }
  return out;
}

// The two names of a merge: "a b", or ["a", "b"].
std::pair<std::string, std::string> names_of_merge(const JsonPlace& merge) {
  constexpr std::string_view expected = "two tokens, as [\"a\", \"b\"] or \"a b\"";
  if (merge.is_list()) {
    const auto names = merge.elements();
    if (names.size() != 2) merge.refuse(expected);
    return {names[0].text(), names[1].text()};
  }
  const std::string& both = merge.text();
  const std::size_t space = both.find(' ');
  if (space == both.npos || both.find(' ', space + 1) != both.npos) merge.refuse(expected);
  return {both.substr(0, space), both.substr(space + 1)};
}

std::vector<BpeMerge> read_merges(const JsonPlace& at, const TokensByName& vocabulary) {
  std::vector<BpeMerge> out;
  for (const JsonPlace& merge : at.elements()) {
    auto [left, right] = names_of_merge(merge);
    auto token = [&](const std::string& name) {
      auto found = vocabulary.find(name);
      if (found == vocabulary.end())
        merge.refuse(concat("of tokens in the vocabulary, which has no ", json_text(name)));
      return found->second;
    };
    const std::int32_t first = token(left), second = token(right);
    out.push_back({first, second, token(left + right)});
  }
  return out;
}

Bpe read_model(const JsonPlace& model, const TokensByName& vocabulary) {
  model.allow({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
               "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"});
  if (const JsonPlace at = model["dropout"]; !at.is_null() && !at.is_number(0))
    at.refuse("null (a tokenizer that draws its merges by chance is not supported)");
  for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (const JsonPlace at = model[name]; !at.is_null() && !at.is_text(""))
      at.refuse("null (it is not supported)");
  if (model["byte_fallback"].flag(false))
    model["byte_fallback"].refuse("false (it is not supported)");
  Bpe::Options options{.tokens_of_bytes = {},
                       .merges = read_merges(model["merges"], vocabulary),
                       .fuse_unknown = model["fuse_unk"].flag(false)};
  for (std::size_t byte = 0; byte < 256; ++byte) {
    auto found = vocabulary.find(symbols_of(std::string(1, byte)));
    options.tokens_of_bytes[byte] = found == vocabulary.end() ? -1 : found->second;
  }
  if (const JsonPlace at = model["unk_token"]; !at.is_null()) {
    auto found = vocabulary.find(at.text());
    if (found == vocabulary.end()) at.refuse("a token in the vocabulary, or null");
    options.unknown = found->second;
  }
  return Bpe(options);
}

void read_byte_level(const JsonPlace& at, TokenizerContent& out, bool in_sequence) {
  at.allow({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  out.add_prefix_space = at["add_prefix_space"].flag(true);
  if (in_sequence && out.add_prefix_space)
    at["add_prefix_space"].refuse("false behind Split (else is not supported)");
  if (!at["use_regex"].flag(true)) return;
  if (in_sequence) at["use_regex"].refuse("false behind Split (else is not supported)");
  out.rule = {.pattern = WordPattern::gpt2};
}

// All of these expressions match every character, so that what stands between matches is nothing:
// behaviours that differ only there are the same.
void read_split(const JsonPlace& at, TokenizerContent& out) {
  at.allow({"type", "pattern", "behavior", "invert"});
  const JsonPlace expression = at["pattern"]["Regex"];
  auto rule = word_rule_of(expression.text());
  if (!rule) expression.refuse("that of GPT-2, Llama 3 or Qwen2 (others are not supported)");
  const bool invert = at["invert"].flag(false);
  if (!at["behavior"].is_text("Isolated") && !(invert && at["behavior"].is_text("Removed")))
    at["behavior"].refuse("\"Isolated\" (others are not supported)");
  out.rule = *rule;
}

void read_pre_tokenizer(const JsonPlace& at, TokenizerContent& out) {
  constexpr std::string_view expected =
      "ByteLevel, or a Sequence of Split and ByteLevel (others are not supported)";
  if (at.is_null()) at.refuse(expected);
  if (type_of(at) == "ByteLevel") return read_byte_level(at, out, false);
  if (type_of(at) != "Sequence") at["type"].refuse(expected);
  at.allow({"type", "pretokenizers"});
  const auto parts = at["pretokenizers"].elements();
  if (parts.size() != 2) at["pretokenizers"].refuse("Split and ByteLevel (else is not supported)");
  if (type_of(parts[0]) != "Split") parts[0]["type"].refuse("\"Split\" (else is not supported)");
  if (type_of(parts[1]) != "ByteLevel")
    parts[1]["type"].refuse("\"ByteLevel\" (else is not supported)");
  read_split(parts[0], out);
  read_byte_level(parts[1], out, true);
}

// The text that is looked for, and that the token stands for.
std::string text_of(const AddedToken& token, const TokenizerContent& content) {
  return token.normalized && content.nfc ? nfc(token.content) : token.content;
}

std::vector<AddedToken> read_added_tokens(const JsonPlace& at, TokenizerContent& out) {
  std::vector<AddedToken> tokens;
  if (at.is_null()) return tokens;
  for (const JsonPlace& token : at.elements()) {
    token.allow({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    const JsonPlace content = token["content"], id = token["id"];
    if (content.text().empty() || content.text().size() > longest_added_token)
      content.refuse(concat("1 to ", longest_added_token, " bytes"));
    tokens.push_back({.token = id.below(most_tokens),
                      .content = content.text(),
                      .single_word = token["single_word"].flag(false),
                      .lstrip = token["lstrip"].flag(false),
                      .rstrip = token["rstrip"].flag(false),
                      .normalized = token["normalized"].flag(true),
                      .special = token["special"].flag(false)});
    const AddedToken& added = tokens.back();
    if (!out.added.emplace(added.content, added.token).second) content.refuse("there once only");
    const Kind kind = added.special ? Kind::special : Kind::plain;
    if (auto known = out.vocabulary.find(added.content); known != out.vocabulary.end()) {
      if (known->second != added.token) id.refuse(concat(known->second, ", as in the vocabulary"));
      out.words[added.token] = {};
    }
    add_word(out.words, id, added.token, text_of(added, out), kind);
  }
  // The package looks for special ones first: of two that normalization makes equal, those count.
  std::stable_partition(tokens.begin(), tokens.end(),
                        [](const AddedToken& t) { return t.special; });
  return tokens;
}

// Splits the tokens by where they are looked for.
void set_finders(std::vector<AddedToken> tokens, TokenizerContent& out) {
  auto normalized = std::stable_partition(tokens.begin(), tokens.end(),
                                          [](const AddedToken& t) { return !t.normalized; });
  std::vector<AddedToken> later(normalized, tokens.end());
  tokens.erase(normalized, tokens.end());
  for (AddedToken& token : later) token.content = text_of(token, out);
  out.as_it_stands = TokenFinder(std::move(tokens));
  out.normalized = TokenFinder(std::move(later));
}

// A few pieces may name one long list again and again.
void read_template(const JsonPlace& at, TokenizerContent& out) {
  at.allow({"type", "single", "pair", "special_tokens"});
  bool text_seen = false;
  for (const JsonPlace& piece : at["single"].elements()) {
    if (!piece["Sequence"].is_null()) {
      if (text_seen) piece.refuse("there once only");
      text_seen = true;
      continue;
    }
    const std::string& name = piece["SpecialToken"]["id"].text();
    for (const JsonPlace& id : at["special_tokens"][name]["ids"].elements()) {
      const std::int32_t token = id.below(most_tokens);
      const std::size_t index = token;
      if (index >= out.words.size() || out.words[index].kind == Kind::none) id.refuse("a token");
      if (out.before.size() + out.after.size() == most_tokens_around)
        id.refuse(concat("one of at most ", most_tokens_around, " around a text"));
      (text_seen ? out.after : out.before).push_back(token);
    }
  }
}

// ByteLevel changes offsets only, which are not kept here.
void read_post_processor(const JsonPlace& at, TokenizerContent& out) {
  if (at.is_null()) return;
  const std::string type = type_of(at);
  if (type == "Sequence") {
    int templates = 0;
    for (const JsonPlace& part : at["processors"].elements()) {
      templates += type_of(part) == "TemplateProcessing";
      read_post_processor(part, out);
    }
    if (templates > 1) out.not_supported = "Sequence of several";
  } else if (type == "TemplateProcessing") {
    read_template(at, out);
  } else if (type != "ByteLevel") {
    out.not_supported = type;
  }
}

bool read_normalizer(const JsonPlace& at) {
  if (at.is_null()) return false;
  if (type_of(at) != "NFC")
    at["type"].refuse("\"NFC\", or the normalizer null (others are not supported)");
  at.allow({"type"});
  return true;
}

}  // namespace

TokenizerContent TokenizerContent::read(std::string_view json, const std::string& name) {
  const JsonDocument document(json, name);
  const JsonPlace root = document.root();
  root.allow({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
              "post_processor", "decoder", "model"});
  if (const JsonPlace at = root["version"]; !at.is_null() && !at.is_text("1.0"))
    at.refuse("\"1.0\"");
  for (const char* part : {"truncation", "padding"})
    if (!root[part].is_null())
      root[part].refuse("null (cut and pad the tokens in the program instead)");
  const JsonPlace model = root["model"], decoder = root["decoder"];
  if (const JsonPlace type = model["type"]; !type.is_null() && !type.is_text("BPE"))
    type.refuse("\"BPE\" (others are not supported)");
  if (decoder.is_null() || !decoder["type"].is_text("ByteLevel"))
    decoder.refuse("of type ByteLevel (others are not supported)");

  Words words;
  TokensByName vocabulary = read_vocabulary(model["vocab"], words);
  Bpe bpe = read_model(model, vocabulary);
  TokenizerContent out{.json = std::string(json),
                       .vocabulary = std::move(vocabulary),
                       .words = std::move(words),
                       .bpe = std::move(bpe),
                       .ignore_merges = model["ignore_merges"].flag(false),
                       .nfc = read_normalizer(root["normalizer"])};
  read_pre_tokenizer(root["pre_tokenizer"], out);
  set_finders(read_added_tokens(root["added_tokens"], out), out);
  read_post_processor(root["post_processor"], out);
  return out;
}

}  // namespace belfry::data
