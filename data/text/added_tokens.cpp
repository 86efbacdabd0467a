#include "belfry/data/text/added_tokens.h"

#include <algorithm>

#include "belfry/data/text/unicode.h"

namespace belfry::data {
namespace {

template <class Children>
auto child(Children& children, char byte) {
  return std::lower_bound(children.begin(), children.end(), byte,
                          [](const auto& c, char b) { return c.first < b; });
}

}  // namespace

TokenFinder::TokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)), nodes_(1) {
  for (std::size_t i = 0; i < tokens_.size(); ++i) insert(i);
}

// The first of equal contents counts.
void TokenFinder::insert(std::size_t index) {
  std::uint32_t at = 0;
  for (char byte : tokens_[index].content) {
    auto place = child(nodes_[at].children, byte);
    if (place != nodes_[at].children.end() && place->first == byte) {
      at = place->second;
      continue;
    }
    const std::uint32_t added = nodes_.size();
    nodes_[at].children.insert(place, {byte, added});
    nodes_.emplace_back();
    at = added;
  }
  if (at != 0 && !nodes_[at].index) nodes_[at].index = index;
}

bool TokenFinder::next(std::string_view text, Match& match) const {
  if (tokens_.empty()) return false;
  for (std::size_t begin = match.end; begin < text.size(); ++begin) {
    bool found = false;
    const Node* node = &nodes_[0];
    for (std::size_t end = begin; end < text.size();) {
      auto place = child(node->children, text[end]);
      if (place == node->children.end() || place->first != text[end]) break;
      node = &nodes_[place->second];
      ++end;
      if (!node->index) continue;
      match = {begin, end, *node->index};  // the longest is the last
      found = true;
    }
    if (found) return true;
  }
  return false;
}

// White space that is taken along begins behind what is done. Where it ended behind the token
// before is in `white_end`: tokens within it do not search it again.
bool TokenFinder::take_white_space(Match& match, std::string_view text, std::size_t done,
                                   std::size_t& white_end) const {
  const AddedToken& token = tokens_[match.index];
  std::string_view before = text.substr(0, match.begin), after = text.substr(match.end);
  if (token.single_word
      && ((!before.empty() && is_word_character(last_character(before).code))
          || (!after.empty() && is_word_character(first_character(after).code))))
    return false;
  if (token.lstrip) {
    while (before.size() > done && is_white_space(last_character(before).code))
      before.remove_suffix(last_character(before).bytes);
    match.begin = std::max(before.size(), done);
    if (match.begin >= match.end) return false;  // it is white space that is taken
  }
  if (token.rstrip) {
    if (match.end > white_end) {
      while (!after.empty() && is_white_space(first_character(after).code))
        after.remove_prefix(first_character(after).bytes);
      white_end = text.size() - after.size();
    }
    match.end = white_end;
  }
  return true;
}

}  // namespace belfry::data
