#include "belfry/data/text/unicode.h"

namespace belfry::data {
namespace {

struct Step {
  std::size_t bytes;
  bool valid;
};

// The character at the front, or the part there that begins none. Table 3-7 of the Unicode
// standard: after E0, ED, F0 and F4 the second byte is limited further.
Step step(std::string_view text) {
  auto byte = [&](std::size_t i) -> unsigned char { return text[i]; };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, true};
  if (lead < 0xc2 || lead > 0xf4) return {1, false};
  const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  unsigned char least = 0x80, most = 0xbf;
  if (lead == 0xe0) least = 0xa0;
  if (lead == 0xed) most = 0x9f;
  if (lead == 0xf0) least = 0x90;
  if (lead == 0xf4) most = 0x8f;
  for (std::size_t i = 1; i < length; ++i) {
    if (i >= text.size() || byte(i) < least || byte(i) > most) return {i, false};
    least = 0x80, most = 0xbf;
  }
  return {length, true};
}

}  // namespace

Character last_character(std::string_view text) {
  std::size_t at = text.size() - 1;
  while ((text[at] & 0xc0) == 0x80) --at;
  return first_character(text.substr(at));
}

void append_utf8(std::string& out, char32_t code) {
  auto add = [&](char32_t byte) { out.push_back(byte); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      add(0xe0 | code >> 12);
    } else {
      add(0xf0 | code >> 18);
      add(0x80 | (code >> 12 & 0x3f));
    }
    add(0x80 | (code >> 6 & 0x3f));
  }
  add(0x80 | (code & 0x3f));
}

std::size_t utf8_prefix(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    Step next = step(bytes.substr(at));
    if (!next.valid) break;
    at += next.bytes;
  }
  return at;
}

std::string with_replacements(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    Step next = step(bytes);
    out += next.valid ? bytes.substr(0, next.bytes) : "\xef\xbf\xbd";
    bytes.remove_prefix(next.bytes);
  }
  return out;
}

bool is_white_space(char32_t code) {
  if (code < 0x80) return code == ' ' || (code >= '\t' && code <= '\r');
  return code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a)
         || code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

}  // namespace belfry::data
