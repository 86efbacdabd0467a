#include "belfry/data/formats/arrays/stored_type.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace belfry::data {
namespace {

template <class From, class To>
void widen(std::span<const std::byte> from, std::span<To> to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    From value;
    std::memcpy(&value, from.data() + i * sizeof value, sizeof value);
    to[i] = value;
  }
}

}  // namespace

void reverse_each(std::span<std::byte> bytes, std::size_t size) {
  for (; !bytes.empty(); bytes = bytes.subspan(size))
    std::reverse(bytes.begin(), bytes.begin() + size);
}

void widen(const StoredType& stored, std::span<const std::byte> from, Array& to) {
  if (stored.kind == 'u' && stored.bytes == 4)
    widen<std::uint32_t>(from, to.span<std::int64_t>());
  else if (stored.kind == 'u')
    widen<std::uint16_t>(from, to.span<std::int32_t>());
  else if (stored.bytes == 2)
    widen<std::int16_t>(from, to.span<std::int32_t>());
  else
    widen<std::int8_t>(from, to.span<std::int32_t>());
}

}  // namespace belfry::data
