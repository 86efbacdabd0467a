#include "belfry/data/text/normalize.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "belfry/data/text/normalize_tables.h"
#include "belfry/data/text/unicode.h"

// Section 3.11 of the Unicode standard (D108 to D117), and 3.12 for Hangul.

namespace belfry::data {
namespace {

using namespace normalization;

constexpr char32_t syllables = 0xac00, leads = 0x1100, vowels = 0x1161, tails = 0x11a7;
constexpr char32_t lead_count = 19, vowel_count = 21, tail_count = 28;
constexpr char32_t syllable_count = lead_count * vowel_count * tail_count;

// Whether `code` is one of so many from `first` on.
bool within(char32_t code, char32_t first, std::size_t count) {
  return code >= first && code - first < count;
}

std::uint8_t combining_class(char32_t code) {
  if (code < 0x300) return 0;
  auto found = std::ranges::partition_point(classes, [=](auto& r) { return r.last < code; });
  return found != classes.end() && found->first <= code ? found->combining_class : 0;
}

const Pair* find(std::span<const Pair> table, char32_t code) {
  auto found = std::ranges::lower_bound(table, code, {}, &Pair::code);
  return found != table.end() && found->code == code ? &*found : nullptr;
}

void decompose(char32_t code, std::u32string& out) {
  if (code < 0xc0) {
    out += code;
  } else if (within(code, syllables, syllable_count)) {
    const char32_t index = code - syllables;
    out += leads + index / (vowel_count * tail_count);
    out += vowels + index % (vowel_count * tail_count) / tail_count;
    if (index % tail_count != 0) out += tails + index % tail_count;
  } else if (within(code, 0xf900, ideographs.size()) && ideographs[code - 0xf900] != 0) {
    out += ideographs[code - 0xf900];
  } else if (within(code, 0x2f800, more_ideographs.size())
             && more_ideographs[code - 0x2f800] != 0) {
    out += more_ideographs[code - 0x2f800];
  } else if (const Pair* pair = find(composed, code); pair || (pair = find(decomposed, code))) {
    decompose(pair->first, out);
    if (pair->second != 0) decompose(pair->second, out);
  } else {
    out += code;
  }
}

// The character that two make, or 0.
char32_t compose(char32_t first, char32_t second) {
  if (within(first, leads, lead_count) && within(second, vowels, vowel_count))
    return syllables + ((first - leads) * vowel_count + (second - vowels)) * tail_count;
  if (within(first, syllables, syllable_count) && (first - syllables) % tail_count == 0
      && within(second, tails + 1, tail_count - 1))
    return first + (second - tails);
  static const auto pairs = [] {
    std::unordered_map<std::uint64_t, char32_t> out;
    for (const Pair& pair : composed)
      out[std::uint64_t{pair.first} << 32 | pair.second] = pair.code;
    return out;
  }();
  auto found = pairs.find(std::uint64_t{first} << 32 | second);
  return found == pairs.end() ? 0 : found->second;
}

// Marks that follow a character in the order of their classes.
void reorder(std::u32string& text) {
  auto is_mark = [](char32_t code) { return combining_class(code) != 0; };
  for (auto begin = std::find_if(text.begin(), text.end(), is_mark); begin != text.end();
       begin = std::find_if(begin, text.end(), is_mark)) {
    auto end = std::find_if_not(begin, text.end(), is_mark);
    std::stable_sort(
        begin, end, [](char32_t a, char32_t b) { return combining_class(a) < combining_class(b); });
    begin = end;
  }
}

// Composes in place. A character composes with the last one of class 0 before it, unless one
// between them is of class 0 or of its own class or a higher one.
void recompose(std::u32string& text) {
  constexpr auto none = std::u32string::npos;
  std::size_t starter = none, size = 0;
  int last_class = -1;  // of what stands behind the starter; -1: nothing
  for (char32_t code : text) {
    const int own = combining_class(code);
    if (starter != none && last_class < own) {
      if (const char32_t both = compose(text[starter], code)) {
        text[starter] = both;
        continue;
      }
    }
    if (own == 0) {
      starter = size;
      last_class = -1;
    } else {
      last_class = own;
    }
    text[size++] = code;
  }
  text.resize(size);
}

}  // namespace

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char byte) { return byte < 0x80; });
}

std::string nfc(std::string_view text) {
  std::u32string codes;
  codes.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Character next = first_character(text.substr(at));
    decompose(next.code, codes);
    at += next.bytes;
  }
  reorder(codes);
  recompose(codes);
  std::string out;
  out.reserve(text.size());
  for (char32_t code : codes) append_utf8(out, code);
  return out;
}

}  // namespace belfry::data
