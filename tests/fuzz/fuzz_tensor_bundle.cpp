// Any bytes are the index of a TensorFlow checkpoint or an Error. The first byte says whether they
// are the file itself, or a block (1: compressed) in one whose checksums are right. What was read
// is written and read back.

#include <algorithm>
#include <fstream>

#include "../framework/tensor/table_bytes.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/tensor/tensor_bundle.h"
#include "memory_folder.h"

using namespace belfry;

namespace {

struct Folder : MemoryFolder {
  Folder() { std::ofstream(path + "/x.data-00000-of-00001") << std::string(256, '\1'); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] < 2) bytes = table_around(bytes, static_cast<char>(data[0]));
  std::ofstream(folder.path + "/x.index", std::ios::binary | std::ios::trunc) << bytes;
  TensorBundle read;
  try {
    read = read_tensor_bundle(folder.path + "/x");
  } catch (const Error&) {
    return 0;
  }
  write_tensor_bundle(folder.path + "/y", read.tensors);
  const TensorBundle again = read_tensor_bundle(folder.path + "/y");
  if (!std::ranges::equal(read.tensors, again.tensors, [](const auto& a, const auto& b) {
        return a.first == b.first && identical(a.second, b.second);
      }))
    std::abort();
  return 0;
}
