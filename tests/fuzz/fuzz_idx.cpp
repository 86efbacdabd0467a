// Any bytes are an IDX file or an Error.
#include <cstddef>
#include <cstdint>

#include "belfry/data/formats/arrays/idx.h"
#include "belfry/framework/base/error.h"
#include "memory_file.h"

using namespace belfry;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    data::parse_idx(std::as_bytes(std::span(data, size)));
  } catch (const Error&) {
  }
  try {
    data::read_idx(MemoryFile(data, size).path());
  } catch (const Error&) {
  }
  return 0;
}
