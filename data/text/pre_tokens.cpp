#include "belfry/data/text/pre_tokens.h"

#include <array>

#include "belfry/data/text/unicode.h"

namespace belfry::data {
namespace {

constexpr std::string_view gpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view llama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view qwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Every character is of one kind.
enum class Kind { letter, number, space, other };

Kind kind_of(char32_t code) {
  if (code < 0x80) {
    if ((code | 0x20) >= 'a' && (code | 0x20) <= 'z') return Kind::letter;
    if (code >= '0' && code <= '9') return Kind::number;
    return is_white_space(code) ? Kind::space : Kind::other;
  }
  if (is_letter(code)) return Kind::letter;
  if (is_number(code)) return Kind::number;
  return is_white_space(code) ? Kind::space : Kind::other;
}

bool is_line_end(char32_t code) { return code == '\n' || code == '\r'; }

// A text and a place in it.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) { look(); }

  std::size_t at() const { return at_; }
  bool at_end() const { return at_ == text_.size(); }
  char32_t code() const { return character_.code; }
  bool is(Kind kind) const { return !at_end() && kind_ == kind; }
  bool is_code(char32_t code) const { return !at_end() && character_.code == code; }

  void advance() {
    at_ += character_.bytes;
    look();
  }
  void pass(Kind kind) {
    while (is(kind)) advance();
  }

 private:
  void look() {
    if (at_end()) return;
    character_ = first_character(text_.substr(at_));
    kind_ = kind_of(character_.code);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Character character_;
  Kind kind_ = Kind::other;
};

char32_t lower(char32_t code) {
  if (code >= 'A' && code <= 'Z') return code + ('a' - 'A');
  // The long s: regular expressions that ignore case take it for an s.
  return code == 0x17f ? U's' : code;
}

// The length of 's, 't, 're, 've, 'm, 'll or 'd at the front; 0 where there is none.
std::size_t contraction(std::string_view text, bool ignore_case) {
  if (text[0] != '\'') return 0;
  std::array<char32_t, 2> letters{};
  std::array<std::size_t, 2> ends{};
  std::size_t at = 1;
  for (std::size_t i = 0; i < 2 && at < text.size(); ++i) {
    Character next = first_character(text.substr(at));
    at += next.bytes;
    letters[i] = ignore_case ? lower(next.code) : next.code;
    ends[i] = at;
  }
  const auto [first, second] = letters;
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return ends[0];
  if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e')
      || (first == 'l' && second == 'l'))
    return ends[1];
  return 0;
}

// Spaces at the front: all where they end the text; else all but the last, which belongs to what
// follows; one at least.
std::size_t spaces(std::string_view text) {
  Cursor cursor(text);
  std::size_t last = 0;
  while (cursor.is(Kind::space)) {
    last = cursor.at();
    cursor.advance();
  }
  return cursor.at_end() || last == 0 ? cursor.at() : last;
}

std::size_t gpt2_word(std::string_view text) {
  if (std::size_t length = contraction(text, false)) return length;
  Cursor cursor(text);
  if (cursor.is_code(' ')) cursor.advance();
  for (Kind kind : {Kind::letter, Kind::number, Kind::other}) {
    if (!cursor.is(kind)) continue;
    cursor.pass(kind);
    return cursor.at();
  }
  return spaces(text);
}

// Spaces at the front up to the last line end among them; 0 where there is none.
std::size_t lines(std::string_view text) {
  std::size_t end = 0;
  for (Cursor cursor(text); cursor.is(Kind::space);) {
    bool ends_line = is_line_end(cursor.code());
    cursor.advance();
    if (ends_line) end = cursor.at();
  }
  return end;
}

std::size_t llama3_word(std::string_view text, std::size_t digits) {
  if (std::size_t length = contraction(text, true)) return length;
  Cursor letters(text);
  if (!letters.is(Kind::letter) && !letters.is(Kind::number) && !is_line_end(letters.code()))
    letters.advance();
  if (letters.is(Kind::letter)) {
    letters.pass(Kind::letter);
    return letters.at();
  }
  Cursor cursor(text);
  if (cursor.is(Kind::number)) {
    for (std::size_t i = 0; i < digits && cursor.is(Kind::number); ++i) cursor.advance();
    return cursor.at();
  }
  if (cursor.is_code(' ')) cursor.advance();
  if (cursor.is(Kind::other)) {
    cursor.pass(Kind::other);
    while (cursor.is_code('\n') || cursor.is_code('\r')) cursor.advance();
    return cursor.at();
  }
  if (std::size_t length = lines(text)) return length;
  return spaces(text);
}

}  // namespace

std::optional<WordRule> word_rule_of(std::string_view regular_expression) {
  if (regular_expression == gpt2) return WordRule{WordPattern::gpt2};
  if (regular_expression == llama3) return WordRule{WordPattern::llama3, 3};
  if (regular_expression == qwen2) return WordRule{WordPattern::llama3, 1};
  return {};
}

std::size_t word_length(const WordRule& rule, std::string_view text) {
  switch (rule.pattern) {
    case WordPattern::gpt2:
      return gpt2_word(text);
    case WordPattern::llama3:
      return llama3_word(text, rule.digits);
    case WordPattern::none:
      break;
  }
  return text.size();
}

}  // namespace belfry::data
