// Any bytes are a tokenizer.json, up to the first that is 0, and a text, or an Error. Where there
// is a tokenizer, the tokens of the text are its own; a tokenizer that learns from the bytes gives
// them back.

#include <cstdlib>

#include "belfry/data/text/tokenizer.h"
#include "belfry/framework/base/error.h"

using namespace belfry;
using namespace belfry::data;

namespace {

void encode(const Tokenizer& tokenizer, std::string_view text) {
  const auto tokens = tokenizer.encode(text, {.add_special_tokens = true});
  for (std::int32_t token : tokens)
    if (token < 0 || token >= tokenizer.size()) std::abort();
  if (!is_utf8(tokenizer.decode(tokens))) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(bytes), size);
  const std::size_t end = all.find('\0');
  try {
    encode(Tokenizer::from_json(all.substr(0, end)), all.substr(end == all.npos ? 0 : end + 1));
  } catch (const Error&) {
  }
  try {
    const Tokenizer trained = train_tokenizer(all, {.size = 300});
    if (trained.decode(trained.encode(all)) != all) std::abort();
  } catch (const Error&) {
    if (is_utf8(all)) std::abort();
  }
  return 0;
}
