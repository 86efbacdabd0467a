// Any bytes are an NPY file, an NPZ file or an Error; an array that was read can be written.
#include <cstddef>
#include <cstdint>

#include "belfry/data/formats/arrays/npy.h"
#include "belfry/data/formats/arrays/npz.h"
#include "belfry/framework/base/error.h"
#include "memory_file.h"

using namespace belfry;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto bytes = std::as_bytes(std::span(data, size));
  Array array;
  try {
    array = data::parse_npy(bytes);
  } catch (const Error&) {
  }
  if (array.defined() && !identical(data::parse_npy(data::to_npy(array)), array)) __builtin_trap();
  try {
    data::parse_npz(bytes);
  } catch (const Error&) {
  }
  const MemoryFile file(data, size);
  try {
    data::read_npy(file.path());
  } catch (const Error&) {
  }
  try {
    data::read_npz(file.path(), {"x"});
  } catch (const Error&) {
  }
  return 0;
}
