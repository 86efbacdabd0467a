// Writes into the folder 10,000 texts, a tokenizer that has learnt from them, and their tokens:
//
//   texts           the length of each as u32, little-endian, and its bytes
//   tokenizer.json  of 1,500 tokens
//   tokens          one line a text
//   decoded         texts of random tokens, which may be no UTF-8, as in `texts`; these tokens are
//   in
//                   `drawn`
//
// With `back`, as second argument, reads what read_tokenizers.py has written then: <name>.json, and
// the package's tokens of the texts in <name>.tokens, for several names.

#include <cstdio>
#include <fstream>
#include <random>

#include "belfry/data/text/tokenizer.h"
#include "belfry/data/text/unicode.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"

using namespace belfry;
using data::Tokenizer;

namespace {

constexpr int count = 10'000;

// Numbers that are the same everywhere: the standard fixes those of mt19937, not of distributions.
class Draw {
 public:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_()) % n; }
  template <std::size_t n>
  std::string one_of(const char* const (&all)[n]) {
    return all[below(n)];
  }

 private:
  std::mt19937 random_{1};
};

// A code point: half of them are anywhere, and most of these are not assigned.
std::uint32_t code_point(Draw& draw) {
  static constexpr struct {
    std::uint32_t first, count;
  } blocks[] = {{0x20, 0x5f},     {0, 0x20},       {0x7f, 0x200},      {0x300, 0x70},
                {0x370, 0x400},   {0x900, 0x500},  {0x1100, 0xff},     {0x2000, 0x80},
                {0x2070, 0x130},  {0x3000, 0x100}, {0x4e00, 0x80},     {0xac00, 0x80},
                {0x1f300, 0x350}, {0, 0xd800},     {0x10000, 0x100000}};
  const auto& block = blocks[draw.below(std::size(blocks))];
  return block.first + draw.below(block.count);
}

std::string text(Draw& draw) {
  static constexpr const char* pieces[] = {"'s",
                                           "'S",
                                           "'ll",
                                           "'LL",
                                           "'re",
                                           "'Ve",
                                           "'t",
                                           "'m",
                                           "'D",
                                           "'\u017f",
                                           "'",
                                           "don't",
                                           "\n",
                                           "\r\n",
                                           "\n\n",
                                           " \n ",
                                           "  ",
                                           "\t",
                                           "   ",
                                           "\u00a0",
                                           "\u3000",
                                           "12345",
                                           " 7",
                                           "\u00bd\u0663",
                                           "!?",
                                           ".\n\n",
                                           " (",
                                           "e\u0301",
                                           "\u1100\u1161\u11a8",
                                           "<|end|>",
                                           "<pad>",
                                           "</s> \n",
                                           "word",
                                           "\u0915\u093c"};
  static constexpr const char* words[] = {
      "the",    " the",  " of",      " and",      " model",
      " tower", " bell", "s",        " training", " tokens",
      " text",  " loss", "gradient", " step",     " learns",
      " a",     " from", "The",      "\u00fcber", " \u0434\u043e\u043c"};
  std::string out;
  for (std::uint32_t parts = draw.below(9); parts > 0; --parts) {
    switch (draw.below(3)) {
      case 0:
        for (std::uint32_t n = draw.below(6); n > 0; --n) data::append_utf8(out, code_point(draw));
        break;
      case 1:
        out += draw.one_of(pieces);
        break;
      default:
        for (std::uint32_t n = draw.below(12); n > 0; --n) out += draw.one_of(words);
    }
  }
  return out;
}

std::vector<std::string> all_texts() {
  Draw draw;
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) out.push_back(text(draw));
  return out;
}

void write(const std::string& path, const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& t : texts) {
    for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(t.size() >> shift);
    out += t;
  }
  write_file_atomically(path, out);
}

std::string lines_of(const std::vector<std::vector<std::int32_t>>& all) {
  std::string out;
  for (const auto& tokens : all) out += join(tokens, " ") + "\n";
  return out;
}

void write_all(const std::string& folder) {
  const std::vector<std::string> texts = all_texts();
  const Tokenizer tokenizer =
      data::train_tokenizer(texts, {.size = 1'500, .special_tokens = {"<|end|>", "<pad>"}});
  require(tokenizer.size() == 1'500, "there are ", tokenizer.size(), " tokens");
  tokenizer.save(folder + "/tokenizer.json");
  std::vector<std::vector<std::int32_t>> tokens, drawn;
  for (const std::string& t : texts) {
    tokens.push_back(tokenizer.encode(t));
    require(tokenizer.decode(tokens.back()) == t, "decoding gives another text than `", t, "`");
  }
  std::vector<std::string> decoded;
  Draw draw;
  for (int i = 0; i < count; ++i) {
    drawn.emplace_back(1 + draw.below(8));
    for (std::int32_t& token : drawn.back()) token = static_cast<std::int32_t>(draw.below(1'500));
    decoded.push_back(tokenizer.decode(drawn.back()));
  }
  write(folder + "/texts", texts);
  write(folder + "/decoded", decoded);
  write_file_atomically(folder + "/tokens", lines_of(tokens));
  write_file_atomically(folder + "/drawn", lines_of(drawn));
}

void read_back(const std::string& folder) {
  const std::vector<std::string> texts = all_texts();
  for (std::string name : {"llama3", "qwen2", "prefix", "unknown"}) {
    const Tokenizer tokenizer = Tokenizer::load(folder + "/" + name + ".json");
    std::ifstream file(folder + "/" + name + ".tokens");
    std::string line;
    for (const std::string& t : texts) {
      require(static_cast<bool>(std::getline(file, line)), name, ": too few lines");
      const std::string own = join(tokenizer.encode(t, {.add_special_tokens = true}), " ");
      require(line == own, name, ": `", t, "` has the tokens ", own, ", the package's are ", line);
    }
  }
}

}  // namespace

int main(int argument_count, char** arguments) try {
  if (argument_count > 2)
    read_back(arguments[1]);
  else
    write_all(arguments[1]);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
