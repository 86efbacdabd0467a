// Any bytes, plain or compressed, are records or Errors, and an end.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "belfry/data/formats/tfrecord.h"
#include "belfry/framework/base/error.h"

using namespace belfry;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  data::TfRecordReader reader(std::as_bytes(std::span(data, size)), "input");
  std::vector<std::byte> record;
  for (bool more = true; more;) {
    try {
      data::TfRecordPosition before = reader.position();
      more = reader.next(record);
      // A position leads to the same place.
      data::TfRecordPosition after = reader.position();
      reader.seek(before);
      reader.skip();
      if (reader.position() != after) __builtin_trap();
    } catch (const Error&) {
    }
  }
  return 0;
}
