#pragma once
// Characters of UTF-8 text and what Unicode says of them. Nothing here knows of tokens.

#include <cstddef>
#include <string>
#include <string_view>

namespace belfry::data {

/// A code point and the bytes that it takes in UTF-8.
struct Character {
  char32_t code = 0;
  std::size_t bytes = 1;
};

/// The character at the front of `text`, which is not empty and well-formed UTF-8.
inline Character first_character(std::string_view text) {
  auto byte = [&](std::size_t i) -> unsigned char { return text[i]; };
  auto more = [&](std::size_t i) { return char32_t{byte(i)} & 0x3f; };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xe0) return {(lead & 0x1f) << 6 | more(1), 2};
  if (lead < 0xf0) return {(lead & 0xf) << 12 | more(1) << 6 | more(2), 3};
  return {(lead & 7) << 18 | more(1) << 12 | more(2) << 6 | more(3), 4};
}

/// The character that `text`, which is not empty and well-formed UTF-8, ends with.
Character last_character(std::string_view text);

void append_utf8(std::string& out, char32_t code);  ///< a code point below 0x110000

/// How many bytes from the front on are well-formed UTF-8 (RFC 3629).
std::size_t utf8_prefix(std::string_view bytes);

/// The bytes as UTF-8. U+FFFD stands for each part that is not: for the longest beginning of a
/// character, else for one byte, as the Unicode standard recommends and Rust's from_utf8_lossy()
/// does.
std::string with_replacements(std::string_view bytes);

/// By Unicode 16.0.0.
///@{
bool is_letter(char32_t code);          ///< general category L
bool is_number(char32_t code);          ///< general category N
bool is_white_space(char32_t code);     ///< property White_Space
bool is_word_character(char32_t code);  ///< \w of UTS #18: letters, marks, digits, "_", joiners
///@}

}  // namespace belfry::data
