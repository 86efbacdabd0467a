// Any bytes are a file of elements, as cache and snapshot write them, or an Error; and an element
// or an Error. An element that was read and written stays the same from then on.
#include <vector>

#include "belfry/data/cache/element_file.h"
#include "belfry/framework/base/error.h"
#include "memory_file.h"

using namespace belfry;

namespace {

void read_all(const std::string& path) {
  data::Element element;
  data::ElementReader reader(path);
  for (std::int64_t i = 0; i < reader.size(); ++i) {
    try {
      reader.read(i, element);
    } catch (const Error&) {
    }
  }
}

// Without checksums, which few changes would get past.
void read_one(std::span<const std::byte> bytes) {
  data::Element element, again;
  try {
    data::decode_element(bytes, element, "input");
  } catch (const Error&) {
    return;
  }
  std::vector<std::byte> written, twice;
  data::encode_element(element, written);
  data::decode_element(written, again, "output");
  data::encode_element(again, twice);
  if (twice != written) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    read_all(MemoryFile(data, size).path());
  } catch (const Error&) {
  }
  read_one(std::as_bytes(std::span(data, size)));
  return 0;
}
