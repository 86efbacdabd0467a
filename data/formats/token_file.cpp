#include "belfry/data/formats/token_file.h"

#include <algorithm>
#include <array>
#include <bit>

#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr std::int64_t most_u16 = 0xffff;

bool fits(std::int32_t token, StoredToken stored) {
  if (stored == StoredToken::i32) return true;
  return token >= 0 && (stored == StoredToken::u32 || token <= most_u16);
}

}  // namespace

void TokenWriter::write(std::span<const std::int32_t> tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i)
    require(fits(tokens[i], stored_), file_.path(), ": token ", count_ + i, " is ", tokens[i],
            ", which ", stored_, " cannot hold; choose another StoredToken");
  count_ += std::ssize(tokens);
  if (stored_ != StoredToken::u16) {
    file_.write(std::as_bytes(tokens));
    return;
  }
  std::array<std::uint16_t, 4096> buffer;
  while (!tokens.empty()) {
    auto part = tokens.first(std::min(tokens.size(), buffer.size()));
    std::copy(part.begin(), part.end(), buffer.begin());
    file_.write(std::as_bytes(std::span(buffer).first(part.size())));
    tokens = tokens.subspan(part.size());
  }
}

}  // namespace belfry::data
