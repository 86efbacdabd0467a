#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "belfry/framework/train/step/worker_sync.h"

namespace belfry {
namespace {

class Digest {
 public:
  void add(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio, odd
    value_ ^= value_ >> 29;
  }
  void add(std::span<const std::byte> bytes) {
    add(bytes.size());
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
      add(word);
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 1;
};

void add_contents(std::span<const std::byte> bytes, Digest& to) {
  constexpr std::size_t pieces = 1024, piece = 64;
  if (bytes.size() <= pieces * piece) return to.add(bytes);
  const std::size_t last = bytes.size() - piece;
  for (std::size_t i = 0; i < pieces; ++i) to.add(bytes.subspan(last * i / (pieces - 1), piece));
}

}  // namespace

std::uint64_t digest(const Features& batch) {
  Digest out;
  for (const auto& [name, array] : batch) {
    out.add(std::as_bytes(std::span(name)));
    out.add(static_cast<std::uint64_t>(array.dtype()));
    for (std::int64_t size : array.shape()) out.add(size);
    add_contents(array.raw_bytes(), out);
  }
  return out.value();
}

std::uint64_t digest(std::span<const std::byte> bytes) {
  Digest out;
  out.add(bytes);
  return out.value();
}

}  // namespace belfry
