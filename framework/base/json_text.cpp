#include "belfry/framework/base/json_text.h"

#include <algorithm>

#include "belfry/framework/base/text.h"

namespace belfry {
namespace {

// How many bytes the first character has; 0: it is none of UTF-8.
std::size_t length_of_first(std::string_view text) {
  const std::size_t most = std::min<std::size_t>(4, text.size());
  std::size_t length = 1;
  while (length <= most && !is_utf8(text.substr(0, length))) ++length;
  return length <= most ? length : 0;
}

std::string escaped(char c) {
  constexpr std::string_view plain = "\"\\\b\f\n\r\t", letters = "\"\\bfnrt",
                             digits = "0123456789abcdef";
  if (std::size_t at = plain.find(c); at != plain.npos) return {'\\', letters[at]};
  return concat("\\u00", digits[c / 16], digits[c % 16]);
}

}  // namespace

std::string json_text(std::string_view text) {
  constexpr std::string_view replacement = "\xEF\xBF\xBD";  // for a byte that is none of UTF-8
  std::string out = "\"";
  while (!text.empty()) {
    std::size_t length = length_of_first(text);
    bool reserved = static_cast<unsigned char>(text[0]) < 0x20 || text[0] == '"' || text[0] == '\\';
    if (reserved) {
      out += escaped(text[0]);
    } else {
      out += length == 0 ? replacement : text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out + '"';
}

}  // namespace belfry
