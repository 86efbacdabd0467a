// Any bytes, plain or compressed, are records or Errors, and an end.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "belfry/data/formats/tfrecord.h"
#include "belfry/framework/base/error.h"
#include "memory_file.h"

using namespace belfry;

namespace {

// The record with the frame that is written around it.
void check_frame(const std::vector<std::byte>& record) {
  const data::TfRecordFrame frame = data::tfrecord_frame(record);
  std::vector<std::byte> file(frame.before.begin(), frame.before.end()), again;
  file.insert(file.end(), record.begin(), record.end());
  file.insert(file.end(), frame.after.begin(), frame.after.end());
  data::TfRecordReader reader(file, "frame", data::Compression::none);
  if (!reader.next(again) || again != record) __builtin_trap();
}

void read_first(const std::string& path) {
  std::vector<std::byte> record;
  try {
    data::TfRecordReader(path).next(record);
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  data::TfRecordReader reader(std::as_bytes(std::span(data, size)), "input");
  std::vector<std::byte> record;
  for (bool more = true; more;) {
    const data::TfRecordPosition before = reader.position();
    try {
      more = reader.next(record);
    } catch (const Error&) {
      continue;
    }
    // A position leads to the same place.
    const data::TfRecordPosition after = reader.position();
    reader.seek(before);
    reader.skip();
    if (reader.position() != after) __builtin_trap();
    if (more) check_frame(record);
  }
  read_first(MemoryFile(data, size).path());
  return 0;
}
