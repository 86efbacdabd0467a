// Fuzzes parse_wav.

#include "belfry/data/formats/wav.h"
#include "belfry/framework/base/error.h"

using namespace belfry;
using namespace belfry::data;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  try {
    parse_wav(std::as_bytes(std::span(bytes, size)));
  } catch (const Error&) {
  }
  return 0;
}
