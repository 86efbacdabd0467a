#pragma once
// Byte pair encoding of words: which tokens their bytes make.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace belfry::data {

/// Bytes as the characters that stand for them in vocabularies: printable ones of Latin-1 as
/// themselves, the 68 others as U+0100 and on, in ascending order. A space is "Ġ".
///@{
void append_symbol(std::string& out, unsigned char byte);
std::string symbols_of(std::string_view bytes);
/// None where a character stands for no byte. `symbols` is well-formed UTF-8.
std::optional<std::string> bytes_of_symbols(std::string_view symbols);
///@}

/// Two tokens that become one; those first in a list of merges are merged first.
struct BpeMerge {
  std::int32_t left = 0, right = 0, token = 0;
};

/// The tokens of words. Thread rules: any number of threads may encode.
class Bpe {
 public:
  struct Options {
    std::array<std::int32_t, 256> tokens_of_bytes;  ///< -1: there is none
    std::vector<BpeMerge> merges;  ///< of a pair that occurs twice, the last counts
    /// Stands for bytes without a token. -1: they are left out.
    std::int32_t unknown = -1;
    bool fuse_unknown = false;  ///< one for bytes side by side
  };
  explicit Bpe(const Options& options);

  /// Memory of encode(), for one thread, to be used again.
  struct Scratch {
    struct Symbol {
      std::int32_t token;
      std::uint32_t rank;  // of the merge with the next symbol, or `never`
      std::uint32_t next, previous;
    };
    std::vector<Symbol> symbols;
    std::vector<std::uint64_t> queue;
  };

  /// Appends the tokens of a word. Of all pairs of neighbours that can be merged the one of the
  /// lowest rank is, the first of several, until there is none. Takes time n log n.
  void encode(std::string_view word, Scratch& scratch, std::vector<std::int32_t>& out) const;

 private:
  struct Entry {
    std::uint64_t pair;
    std::uint32_t rank;
    std::int32_t token;
  };
  static constexpr std::uint32_t never = ~std::uint32_t{0};

  const Entry* find(std::int32_t left, std::int32_t right) const;
  std::uint32_t rank(std::int32_t left, std::int32_t right) const;
  void fill(std::string_view word, std::vector<Scratch::Symbol>& symbols) const;
  void merge_short(std::vector<Scratch::Symbol>& symbols) const;
  void merge_long(Scratch& scratch) const;

  std::array<std::int32_t, 256> tokens_of_bytes_{};
  std::int32_t unknown_ = -1;
  bool fuse_unknown_ = false;
  std::vector<Entry> table_;                  // by a hash of the pair, with gaps
  std::vector<std::int32_t> merged_by_rank_;  // the token that the merge of this rank makes
};

}  // namespace belfry::data
