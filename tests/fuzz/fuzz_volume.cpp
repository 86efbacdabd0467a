// Any bytes are a volume or an Error.

#include "belfry/data/formats/arrays/volume.h"
#include "belfry/framework/base/error.h"
#include "memory_file.h"

using namespace belfry;
using namespace belfry::data;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  try {
    decode_volume(std::as_bytes(std::span(bytes, size)), {.voxel_limit = 1 << 20});
  } catch (const Error&) {
  }
  try {
    read_volume(MemoryFile(bytes, size).path(), {.voxel_limit = 1 << 20});
  } catch (const Error&) {
  }
  return 0;
}
