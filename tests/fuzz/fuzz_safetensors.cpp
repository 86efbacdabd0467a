// Any bytes are a safetensors file or an Error.
#include "belfry/framework/base/error.h"
#include "belfry/framework/tensor/safetensors.h"
#include "memory_file.h"

using namespace belfry;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  MemoryFile file(data, size);
  try {
    load_safetensors(file.path());
  } catch (const Error&) {
  }
  try {
    read_safetensors_header(file.path());
  } catch (const Error&) {
  }
  return 0;
}
