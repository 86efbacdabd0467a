#include "belfry/data/text/bpe.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "belfry/data/text/unicode.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

// A pair that no two tokens make, since these are not negative.
constexpr std::uint64_t empty = ~std::uint64_t{0};

std::uint64_t pair_of(std::int32_t left, std::int32_t right) {
  const std::uint64_t high = left, low = right;
  return high << 32 | low;
}

// Fibonacci hashing (Knuth): the high bits of a product depend on all bits of the factor.
std::size_t slot_of(std::uint64_t pair, std::size_t size) {
  return (pair * 0x9e3779b97f4a7c15u) >> (64 - std::bit_width(size - 1));
}

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte != 0xad);
}

constexpr std::array<char16_t, 256> symbols = [] {
  std::array<char16_t, 256> out{};
  char16_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) out[byte] = stands_for_itself(byte) ? byte : next++;
  return out;
}();

}  // namespace

void append_symbol(std::string& out, unsigned char byte) { append_utf8(out, symbols[byte]); }

std::string symbols_of(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (unsigned char byte : bytes) append_symbol(out, byte);
  return out;
}

std::optional<std::string> bytes_of_symbols(std::string_view text) {
  static const auto bytes = [] {
    std::array<int, 0x144> out;  // the last symbol is U+0143
    out.fill(-1);
    for (int byte = 0; byte < 256; ++byte) out[symbols[byte]] = byte;
    return out;
  }();
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    Character next = first_character(text.substr(at));
    if (next.code >= bytes.size() || bytes[next.code] < 0) return {};
    out.push_back(bytes[next.code]);
    at += next.bytes;
  }
  return out;
}

Bpe::Bpe(const Options& options)
    : tokens_of_bytes_(options.tokens_of_bytes),
      unknown_(options.unknown),
      fuse_unknown_(options.fuse_unknown),
      table_(std::bit_ceil(options.merges.size() * 3 / 2 + 2), Entry{empty, never, -1}) {
  for (const BpeMerge& merge : options.merges) {
    const std::uint64_t pair = pair_of(merge.left, merge.right);
    std::size_t slot = slot_of(pair, table_.size());
    while (table_[slot].pair != empty && table_[slot].pair != pair)
      slot = (slot + 1) & (table_.size() - 1);
    const std::uint32_t rank = merged_by_rank_.size();
    table_[slot] = {pair, rank, merge.token};
    merged_by_rank_.push_back(merge.token);
  }
}

const Bpe::Entry* Bpe::find(std::int32_t left, std::int32_t right) const {
  const std::uint64_t pair = pair_of(left, right);
  for (std::size_t slot = slot_of(pair, table_.size());; slot = (slot + 1) & (table_.size() - 1)) {
    if (table_[slot].pair == pair) return &table_[slot];
    if (table_[slot].pair == empty) return nullptr;
  }
}

std::uint32_t Bpe::rank(std::int32_t left, std::int32_t right) const {
  const Entry* found = find(left, right);
  return found ? found->rank : never;
}

void Bpe::encode(std::string_view word, Scratch& scratch, std::vector<std::int32_t>& out) const {
  require(word.size() < never, "a word of ", word.size(), " bytes has no tokens; most are ", never);
  auto& symbols = scratch.symbols;
  fill(word, symbols);
  if (symbols.empty()) return;
  constexpr std::size_t most_in_short = 48;
  if (symbols.size() <= most_in_short)
    merge_short(symbols);
  else
    merge_long(scratch);
  for (std::uint32_t at = 0; at != never; at = symbols[at].next) out.push_back(symbols[at].token);
}

void Bpe::fill(std::string_view word, std::vector<Scratch::Symbol>& symbols) const {
  symbols.clear();
  bool last_unknown = false;
  for (unsigned char byte : word) {
    std::int32_t token = tokens_of_bytes_[byte];
    const bool unknown = token < 0;
    if (unknown) token = fuse_unknown_ && last_unknown ? -1 : unknown_;
    last_unknown = unknown;
    if (token < 0) continue;
    const std::uint32_t at = symbols.size();
    if (at > 0) {
      symbols.back().next = at;
      symbols.back().rank = rank(symbols.back().token, token);
    }
    symbols.push_back({token, never, never, at == 0 ? never : at - 1});
  }
}

// Few symbols lie side by side in a cache line or two: looking at all is quicker than a queue.
void Bpe::merge_short(std::vector<Scratch::Symbol>& symbols) const {
  auto before = [](const Scratch::Symbol& a, const Scratch::Symbol& b) { return a.rank < b.rank; };
  while (true) {
    auto best = std::min_element(symbols.begin(), symbols.end(), before);
    if (best->rank == never) break;
    best->token = merged_by_rank_[best->rank];
    symbols.erase(best + 1);
    best->rank = best + 1 == symbols.end() ? never : rank(best->token, best[1].token);
    if (best != symbols.begin()) best[-1].rank = rank(best[-1].token, best->token);
  }
  for (std::uint32_t i = 0; i < symbols.size(); ++i)
    symbols[i].next = i + 1 == symbols.size() ? never : i + 1;
}

// Entries of the queue are out of date where a symbol has been merged since, or has another rank.
void Bpe::merge_long(Scratch& scratch) const {
  auto& symbols = scratch.symbols;
  auto& queue = scratch.queue;
  queue.clear();
  auto push = [&](std::uint32_t at) {
    queue.push_back(std::uint64_t{symbols[at].rank} << 32 | at);
    std::push_heap(queue.begin(), queue.end(), std::greater());
  };
  for (std::uint32_t at = 0; at < symbols.size(); ++at)
    if (symbols[at].rank != never) queue.push_back(std::uint64_t{symbols[at].rank} << 32 | at);
  std::make_heap(queue.begin(), queue.end(), std::greater());
  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end(), std::greater());
    const std::uint32_t at = queue.back() & never, wanted = queue.back() >> 32;
    queue.pop_back();
    auto& symbol = symbols[at];
    if (symbol.rank != wanted) continue;
    auto& right = symbols[symbol.next];
    symbol.token = merged_by_rank_[wanted];
    symbol.next = right.next;
    right.rank = never;
    symbol.rank = never;
    if (symbol.next != never) {
      symbols[symbol.next].previous = at;
      symbol.rank = rank(symbol.token, symbols[symbol.next].token);
      if (symbol.rank != never) push(at);
    }
    if (symbol.previous != never) {
      auto& left = symbols[symbol.previous];
      left.rank = rank(left.token, symbol.token);
      if (left.rank != never) push(symbol.previous);
    }
  }
}

}  // namespace belfry::data
