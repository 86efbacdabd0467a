// A checkpoint whose file was damaged is the same checkpoint or an Error, and never another one:
// checksums cover names, types, metadata and data. The bytes are a list of changes to the file of a
// small checkpoint. The first one says whether the checksums are put right afterwards: that gives
// any other checkpoint, which is written and read back as itself, or an Error.

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/base/crc32c.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/tensor/safetensors_header.h"
#include "belfry/framework/train/checkpoint.h"
#include "memory_file.h"
#include "memory_folder.h"

using namespace belfry;

namespace {

constexpr std::size_t length_bytes = 8;

const Checkpoint& original() {
  static const Checkpoint checkpoint{
      .variables = {{"dense/kernel", Array::of<float>({1, -2, 0.5f, 4, 5, 6}, {3, 2})},
                    {"dense/kernel/momentum", Array::of<float>({0, 0, 1, 1, 2, 2}, {3, 2})},
                    {"flags", Array::of<bool>({true, false, true})},
                    {"steps", Array::scalar<std::int64_t>(1234567)},
                    {"none", Array({0, 4}, DType::bf16)}},
      .step = 17,
      .seed = 18446744073709551615u,
      .input = "range.next=3 shuffle.seed=7",
      .hooks = {{"early_stopping", "best 0.5"}, {"other", ""}},
      .config = R"({"devices":["cpu"]})"};
  return checkpoint;
}

// The folder is gone before anything is checked, so that an abort leaves none behind.
std::string written(const Checkpoint& checkpoint) {
  const MemoryFolder folder;
  write_checkpoint(folder.path + "/x", checkpoint);
  return read_file(folder.path + "/x");
}

bool same(const Checkpoint& a, const Checkpoint& b) {
  auto same_array = [](const auto& x, const auto& y) {
    return x.first == y.first && identical(x.second, y.second);
  };
  return std::ranges::equal(a.variables, b.variables, same_array) && a.step == b.step
         && a.seed == b.seed && a.input == b.input && a.hooks == b.hooks && a.config == b.config
         && a.version == b.version;
}

/// Takes one number after the other from the input; 0 behind its end.
class Numbers {
 public:
  Numbers(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}
  bool at_end() const { return at_ == end_; }
  unsigned byte() { return at_end() ? 0 : *at_++; }
  /// Below `bound`, which is at most 65536 and above 0.
  std::size_t below(std::size_t bound) {
    const unsigned high = byte();
    return (high << 8 | byte()) % bound;
  }

 private:
  const std::uint8_t *at_, *end_;
};

// Texts that stand somewhere in the file, or might.
constexpr std::array<std::string_view, 30> words{"belfry.crc32c",
                                                 "belfry.header_crc32c",
                                                 "belfry.",
                                                 "__metadata__",
                                                 "dense/kernel",
                                                 "flags",
                                                 "none",
                                                 "F32",
                                                 "I32",
                                                 "BOOL",
                                                 "U8",
                                                 "BF16",
                                                 "[3,2]",
                                                 "[2,3]",
                                                 "[6]",
                                                 "[0]",
                                                 "17",
                                                 "-1",
                                                 "1e3",
                                                 "data_offsets",
                                                 "shape",
                                                 "dtype",
                                                 "{}",
                                                 "[]",
                                                 "\\u0000",
                                                 "\\\"",
                                                 "}",
                                                 ",",
                                                 " ",
                                                 "format"};

void change(std::string& file, Numbers& numbers) {
  const unsigned how = numbers.byte();
  const std::size_t at = numbers.below(file.size() + 1), rest = file.size() - at;
  switch (how % 8) {
    case 0:
      if (rest > 0) file[at] = static_cast<char>(file[at] ^ (1 << numbers.byte() % 8));
      break;
    case 1:
      if (rest > 0) file[at] = static_cast<char>(numbers.byte());
      break;
    case 2:
      file.erase(at, numbers.below(64));
      break;
    case 3:
      file.insert(at, 1, static_cast<char>(numbers.byte()));
      break;
    case 4:
      file.resize(at);
      break;
    case 5: {  // one part in the place of another
      const std::size_t from = numbers.below(file.size() + 1), size = numbers.below(64);
      file.replace(at, size, file.substr(from, size));
      break;
    }
    case 6: {  // one word for another, wherever it stands next
      const std::string_view word = words[numbers.below(words.size())];
      const std::size_t found = file.find(word, at);
      if (found != file.npos) file.replace(found, word.size(), words[numbers.below(words.size())]);
      break;
    }
    default:
      file.insert(at, words[numbers.below(words.size())]);
  }
}

// The length of the header as it now is: it ends where the data began, so many bytes before the
// end.
void set_length(std::string& file, std::size_t data_bytes) {
  if (file.size() < length_bytes + data_bytes) return;
  std::size_t length = file.size() - length_bytes - data_bytes;
  for (std::size_t i = 0; i < length_bytes; ++i, length >>= 8) file[i] = static_cast<char>(length);
}

std::string hex(std::uint32_t value) {
  std::array<char, 9> out{};
  std::snprintf(out.data(), out.size(), "%08x", value);
  return out.data();
}

// Error: the header is none.
std::string with_right_checksums(const std::string& file, std::size_t data_bytes) {
  require(file.size() >= length_bytes + data_bytes, "too short");
  const std::string_view data = std::string_view(file).substr(file.size() - data_bytes);
  const auto json =
      std::string_view(file).substr(length_bytes, file.size() - length_bytes - data_bytes);
  safetensors::Header header = safetensors::parse(json, static_cast<std::int64_t>(data_bytes));
  header.metadata.erase("belfry.crc32c");
  header.metadata.erase("belfry.header_crc32c");
  const std::string bare = safetensors::to_json(header);
  header.metadata["belfry.crc32c"] = hex(crc32c(std::as_bytes(std::span(data))));
  header.metadata["belfry.header_crc32c"] = hex(crc32c(std::as_bytes(std::span(bare))));
  std::string out = std::string(length_bytes, '\0') + safetensors::to_json(header);
  out += data;
  set_length(out, data_bytes);
  return out;
}

std::optional<Checkpoint> load(const std::string& file) {
  try {
    return load_checkpoint(
        MemoryFile(reinterpret_cast<const std::uint8_t*>(file.data()), file.size()).path());
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Else all that is forged would be refused, and nothing tried.
void check_forging(const std::string& unharmed, std::size_t data_bytes,
                   const Checkpoint& expected) {
  const std::optional<Checkpoint> loaded = load(with_right_checksums(unharmed, data_bytes));
  if (!loaded || !same(*loaded, expected)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string unharmed = written(original());
  static const Checkpoint expected = load(unharmed).value();
  static const std::size_t data_bytes = [] {
    std::size_t bytes = 0;
    for (const auto& item : original().variables) bytes += item.second.raw_bytes().size();
    return bytes;
  }();
  static std::once_flag checked;
  std::call_once(checked, check_forging, unharmed, data_bytes, expected);
  Numbers numbers(data, size);
  const unsigned choice = numbers.byte();
  std::string file = unharmed;
  while (!numbers.at_end()) change(file, numbers);
  if (choice & 2) set_length(file, data_bytes);
  if ((choice & 1) == 0) {
    const std::optional<Checkpoint> loaded = load(file);
    if (loaded && !same(*loaded, expected)) std::abort();
    return 0;
  }
  try {
    file = with_right_checksums(file, data_bytes);
  } catch (const Error&) {
    return 0;
  }
  std::optional<Checkpoint> forged = load(file);
  if (!forged) return 0;
  const std::optional<Checkpoint> again = load(written(*forged));
  forged->version = expected.version;
  if (!again || !same(*again, *forged)) std::abort();
  return 0;
}
