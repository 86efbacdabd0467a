// Byte pair encoding learnt from texts (Sennrich et al. 2016), with the choices among equals that
// the BpeTrainer of the package `tokenizers` makes, so that the same texts give the same merges.

#include <algorithm>
#include <map>
#include <numeric>

#include "belfry/data/text/tokenizer_content.h"
#include "belfry/data/text/unicode.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

constexpr WordRule rule{.pattern = WordPattern::gpt2};

// How often each word occurs.
using WordCounts = std::map<std::string, std::int64_t, std::less<>>;

void count_words(std::string_view text, const std::string& name, WordCounts& counts) {
  if (const std::size_t prefix = utf8_prefix(text); prefix < text.size())
    fail("train_tokenizer: ", name, " is not UTF-8 at byte ", prefix, " of ", text.size(),
         "; convert it first");
  while (!text.empty()) {
    std::string_view word = text.substr(0, word_length(rule, text));
    auto found = counts.find(word);
    if (found == counts.end()) found = counts.emplace(word, 0).first;
    ++found->second;
    text.remove_prefix(word.size());
  }
}

using Pair = std::pair<std::int32_t, std::int32_t>;

struct HashOfPair {
  std::size_t operator()(const Pair& p) const {
    const std::uint64_t first = p.first, second = p.second;
    return (first << 32 | second) * 0x9e3779b97f4a7c15u >> 16;
  }
};

class Trainer {
 public:
  Trainer(const WordCounts& counts, const TrainTokenizerOptions& options) : options_(options) {
    for (const std::string& name : options.special_tokens) add_token(name);
    add_bytes();
    for (const auto& [word, count] : counts) {
      words_.emplace_back();
      for (unsigned char byte : word) words_.back().push_back(tokens_of_bytes_[byte]);
      counts_.push_back(count);
    }
    for (std::size_t i = 0; i < words_.size(); ++i)
      for (std::size_t at = 0; at + 1 < words_[i].size(); ++at)
        change({words_[i][at], words_[i][at + 1]}, counts_[i], i);
    queue_new_pairs();
  }

  Tokenizer train() {
    while (std::ssize(names_) < options_.size && !queue_.empty()) {
      Candidate best = pop();
      const std::int64_t count = pair_counts_.at(best.pair);
      if (best.count != count) {  // other merges have taken some since
        best.count = count;
        push(std::move(best));
        continue;
      }
      if (count < 1 || count < options_.min_count) break;
      merge(best);
    }
    return Tokenizer::from_json(tokenizer_json(names_, merges_, options_.special_tokens.size()),
                                "train_tokenizer");
  }

 private:
  struct Candidate {
    std::int64_t count;
    Pair pair;
    std::vector<std::size_t> words;  // those that have had it
  };

  std::int32_t add_token(const std::string& name) {
    auto [at, added] = tokens_.emplace(name, names_.size());
    if (added) names_.push_back(name);
    return at->second;
  }

  // Tokens of bytes are in the order of their symbols.
  void add_bytes() {
    std::array<int, 256> bytes{};
    std::iota(bytes.begin(), bytes.end(), 0);
    auto symbol = [](int byte) { return symbols_of(std::string(1, byte)); };
    // UTF-8 is in the order of code points.
    std::ranges::sort(bytes, {}, symbol);
    for (int byte : bytes) tokens_of_bytes_[byte] = add_token(symbol(byte));
  }

  // The queue has the most frequent pair on top, and of several that of the smallest tokens.
  static bool below(const Candidate& a, const Candidate& b) {
    return a.count != b.count ? a.count < b.count : a.pair > b.pair;
  }
  void push(Candidate candidate) {
    queue_.push_back(std::move(candidate));
    std::push_heap(queue_.begin(), queue_.end(), below);
  }
  Candidate pop() {
    std::pop_heap(queue_.begin(), queue_.end(), below);
    Candidate out = std::move(queue_.back());
    queue_.pop_back();
    return out;
  }

  // A word has so many more of a pair, or fewer.
  void change(Pair pair, std::int64_t count, std::size_t word) {
    pair_counts_[pair] += count;
    if (count < 0) return;
    std::vector<std::size_t>& in = new_pairs_[pair];
    if (in.empty() || in.back() != word) in.push_back(word);
  }

  void queue_new_pairs() {
    for (auto& [pair, words] : new_pairs_)
      if (const std::int64_t count = pair_counts_.at(pair); count > 0)
        push({count, pair, std::move(words)});
    new_pairs_.clear();
  }

  void merge(const Candidate& best) {
    const auto [left, right] = best.pair;
    const std::int32_t token = add_token(names_[left] + names_[right]);
    merges_.push_back(best.pair);
    for (std::size_t word : best.words) merge_in(word, best.pair, token);
    queue_new_pairs();
  }

  void merge_in(std::size_t index, Pair pair, std::int32_t token) {
    std::vector<std::int32_t>& word = words_[index];
    const std::int64_t count = counts_[index];
    std::size_t size = 0;
    for (std::size_t at = 0; at < word.size(); ++size) {
      const bool found = at + 1 < word.size() && Pair{word[at], word[at + 1]} == pair;
      if (!found) {
        word[size] = word[at++];
        continue;
      }
      if (size > 0) {
        change({word[size - 1], pair.first}, -count, index);
        change({word[size - 1], token}, count, index);
      }
      if (at + 2 < word.size()) {
        change({pair.second, word[at + 2]}, -count, index);
        change({token, word[at + 2]}, count, index);
      }
      word[size] = token;
      at += 2;
    }
    word.resize(size);
  }

  const TrainTokenizerOptions& options_;
  std::vector<std::string> names_;  // by token
  TokensByName tokens_;
  std::array<std::int32_t, 256> tokens_of_bytes_{};
  std::vector<std::vector<std::int32_t>> words_;
  std::vector<std::int64_t> counts_;  // of words
  std::unordered_map<Pair, std::int64_t, HashOfPair> pair_counts_;
  std::unordered_map<Pair, std::vector<std::size_t>, HashOfPair> new_pairs_;  // and their words
  std::vector<Candidate> queue_;
  std::vector<Pair> merges_;
};

void check(const TrainTokenizerOptions& options) {
  const auto special = std::ssize(options.special_tokens);
  require(options.size >= 256 + special && options.size <= most_tokens, "train_tokenizer: size is ",
          options.size, "; it must be at least 256 for bytes and ", special,
          " for special tokens, and at most ", most_tokens);
  for (std::size_t i = 0; i < options.special_tokens.size(); ++i) {
    const std::string& name = options.special_tokens[i];
    require(!name.empty() && name.size() <= longest_added_token && is_utf8(name),
            "train_tokenizer: special_tokens[", i, "] must be 1 to ", longest_added_token,
            " bytes of UTF-8");
    require(std::count(options.special_tokens.begin(), options.special_tokens.end(), name) == 1,
            "train_tokenizer: special_tokens has `", name, "` twice");
  }
}

}  // namespace

Tokenizer train_tokenizer(std::span<const std::string> texts,
                          const TrainTokenizerOptions& options) {
  check(options);
  WordCounts counts;
  for (std::size_t i = 0; i < texts.size(); ++i) count_words(texts[i], concat("text ", i), counts);
  return Trainer(counts, options).train();
}

Tokenizer train_tokenizer(std::string_view text, const TrainTokenizerOptions& options) {
  check(options);
  WordCounts counts;
  count_words(text, "the text", counts);
  return Trainer(counts, options).train();
}

}  // namespace belfry::data
