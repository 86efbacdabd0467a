#pragma once
// Tokens that are found in a text as they stand, before it is cut into words.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belfry::data {

/// A token beside those that merges make.
struct AddedToken {
  std::int32_t token = 0;
  std::string content;
  bool single_word = false;  ///< only where no word character stands beside it
  bool lstrip = false;       ///< takes the white space before it away
  bool rstrip = false;       ///< takes the white space after it away
  bool normalized = false;   ///< is looked for in the normalized text
  bool special = false;      ///< marks something, and is no part of the text
};

/// Finds tokens in texts. Thread rules: any number of threads may find.
class TokenFinder {
 public:
  explicit TokenFinder(std::vector<AddedToken> tokens = {});

  /// Calls `plain(part)` for each part of the text that is not empty and no token, and `token(t)`
  /// for each token, in order. At each place the longest token counts, and the next one begins
  /// behind it. One that is refused since it is no single word is passed over as text.
  template <class Plain, class Token>
  void split(std::string_view text, Plain&& plain, Token&& token) const {
    std::size_t done = 0, white_end = 0;
    Match match;
    while (next(text, match)) {
      Match taken = match;
      if (!take_white_space(taken, text, done, white_end)) continue;
      if (done < taken.begin) plain(text.substr(done, taken.begin - done));
      token(tokens_[taken.index].token);
      done = taken.end;
    }
    if (done < text.size()) plain(text.substr(done));
  }

 private:
  struct Match {
    std::size_t begin = 0, end = 0, index = 0;
  };
  // Tokens by their bytes: children are sorted by byte.
  struct Node {
    std::vector<std::pair<char, std::uint32_t>> children = {};
    std::optional<std::size_t> index = {};
  };

  void insert(std::size_t index);
  // The next match behind the one given, if there is one.
  bool next(std::string_view text, Match& match) const;
  // False where the match does not count.
  bool take_white_space(Match& match, std::string_view text, std::size_t done,
                        std::size_t& white_end) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_;
};

}  // namespace belfry::data
