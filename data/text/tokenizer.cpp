#include "belfry/data/text/tokenizer.h"

#include <algorithm>

#include "belfry/data/text/normalize.h"
#include "belfry/data/text/tokenizer_content.h"
#include "belfry/data/text/unicode.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"

namespace belfry::data {
namespace {

// Appends the tokens of one text.
class Encoder {
 public:
  Encoder(const TokenizerContent& content, std::vector<std::int32_t>& out)
      : content_(content), out_(out) {}

  void add(std::string_view text) {
    auto token = [&](std::int32_t t) { out_.push_back(t); };
    auto words = [&](std::string_view part) { add_words(part); };
    content_.as_it_stands.split(
        text,
        [&](std::string_view part) {
          if (!content_.nfc || is_ascii(part)) return content_.normalized.split(part, words, token);
          content_.normalized.split(nfc(part), words, token);
        },
        token);
  }

 private:
  void add_words(std::string_view text) {
    if (content_.add_prefix_space && text.front() != ' ') {
      prefixed_ = " ";
      prefixed_ += text;
      text = prefixed_;
    }
    while (!text.empty()) {
      const std::size_t length = word_length(content_.rule, text);
      add_word(text.substr(0, length));
      text.remove_prefix(length);
    }
  }

  void add_word(std::string_view word) {
    if (content_.ignore_merges) {
      name_.clear();
      for (unsigned char byte : word) append_symbol(name_, byte);
      auto found = content_.vocabulary.find(name_);
      if (found != content_.vocabulary.end()) return out_.push_back(found->second);
    }
    content_.bpe.encode(word, scratch_, out_);
  }

  const TokenizerContent& content_;
  std::vector<std::int32_t>& out_;
  Bpe::Scratch scratch_;
  std::string prefixed_, name_;
};

}  // namespace

Tokenizer Tokenizer::load(const std::string& path) { return from_json(read_file(path), path); }

Tokenizer Tokenizer::from_json(std::string_view json, std::string name) {
  return Tokenizer(std::make_shared<const TokenizerContent>(TokenizerContent::read(json, name)));
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  if (const std::size_t prefix = utf8_prefix(text); prefix < text.size())
    fail("tokenizer: the text is not UTF-8 at byte ", prefix, " of ", text.size(),
         "; convert it first");
  require(!options.add_special_tokens || content_->not_supported.empty(),
          "tokenizer: the file's post_processor is of type `", content_->not_supported,
          "`, which is not supported; add the special tokens to those of the text");
  std::vector<std::int32_t> out;
  out.reserve(text.size() / 3 + 8);
  if (options.add_special_tokens) out = content_->before;
  Encoder(*content_, out).add(text);
  if (options.add_special_tokens)
    out.insert(out.end(), content_->after.begin(), content_->after.end());
  return out;
}

std::string Tokenizer::decode(std::span<const std::int32_t> tokens, DecodeOptions options) const {
  std::string out;
  for (std::int32_t token : tokens)
    if (std::string_view piece = bytes(token); !options.skip_special_tokens || !is_special(token))
      out += piece;
  return with_replacements(out);
}

std::string_view Tokenizer::bytes(std::int32_t token) const {
  require(
      token >= 0 && token < size() && content_->words[token].kind != TokenizerContent::Kind::none,
      "tokenizer: there is no token ", token, "; they are below ", size());
  return content_->words[token].bytes;
}

std::int64_t Tokenizer::size() const { return std::ssize(content_->words); }

std::optional<std::int32_t> Tokenizer::token(std::string_view name) const {
  for (const TokensByName* names : {&content_->added, &content_->vocabulary})
    if (auto found = names->find(std::string(name)); found != names->end()) return found->second;
  return {};
}

bool Tokenizer::is_special(std::int32_t token) const {
  bytes(token);  // an Error where there is none
  return content_->words[token].kind == TokenizerContent::Kind::special;
}

const std::string& Tokenizer::json() const { return content_->json; }

void Tokenizer::save(const std::string& path) const { write_file_atomically(path, json()); }

}  // namespace belfry::data
