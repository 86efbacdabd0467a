// Any bytes are a file of CIFAR's, or one of lines, of records of one length or of tokens, or
// Errors and an end. The first two bytes choose the form. A position leads to the same record.
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "belfry/data/formats/arrays/cifar10.h"
#include "belfry/data/grouping/grouping.h"
#include "belfry/data/sources/files.h"
#include "belfry/data/sources/tokens.h"
#include "belfry/data/transforms/transforms.h"
#include "belfry/framework/base/error.h"
#include "memory_file.h"

using namespace belfry;
using namespace belfry::data;

namespace {

void check_labels(const Features& read, const char* name, std::int64_t highest) {
  for (std::int64_t label : read.at(name).span<std::int64_t>())
    if (label < 0 || label > highest) std::abort();
}

void read_cifar(const std::string& path) {
  try {
    check_labels(read_cifar10(path), "label", 9);
  } catch (const Error&) {
  }
  try {
    const Features read = read_cifar100(path);
    check_labels(read, "label", 99);
    check_labels(read, "coarse_label", 19);
  } catch (const Error&) {
  }
}

// The next element, none at the end, or the message of its Error.
struct Next {
  std::optional<Features> element = {};
  std::string error = {};
};
Next next(InputStream& stream) {
  Features element;
  try {
    if (stream.next(element)) return {.element = element};
    return {};
  } catch (const Error& error) {
    return {.error = error.what()};
  }
}

bool same(const Next& a, const Next& b) {
  if (a.error != b.error || a.element.has_value() != b.element.has_value()) return false;
  if (!a.element) return true;
  for (const auto& [name, array] : *a.element)
    if (!identical(array, b.element->at(name))) return false;
  return true;
}

void read_to_end(const Dataset& data) {
  InputStreamPtr stream = data;
  while (true) {
    const Next read = next(*stream);
    if (!read.element && read.error.empty()) return;
  }
}

void read_all(const Dataset& data) {
  constexpr int restored = 20;  // the first ones, as it takes its time
  InputStreamPtr stream = data, other = data;
  for (int i = 0;; ++i) {
    const bool restores = i < restored;
    if (restores) other->restore(stream->save());
    const Next read = next(*stream);
    if (restores && !same(next(*other), read)) std::abort();
    if (!read.element && read.error.empty()) break;
  }
  read_to_end(data | skip(2));
}

void read(const std::string& path, unsigned form, unsigned choice, bool small) {
  switch (form % 4) {
    case 0:
      return read_cifar(path);
    case 1:
      return read_all(text_lines({path}));
    case 2:
      return read_all(fixed_length_records(
          {path}, 1 + choice % 16, {.header_bytes = choice / 16 % 4, .footer_bytes = choice / 64}));
    default: {
      // More than are open at once, where that does not take long.
      const std::vector<std::string> paths(small && form >= 128 ? 66 : 1, path);
      const Dataset rows = token_files(paths, {.length = 1 + choice % 8,
                                               .stride = choice / 8 % 4,
                                               .stored = static_cast<StoredToken>(form / 4 % 3),
                                               .header_bytes = choice / 32});
      // Padded batches have no random access: they pass over what they leave out.
      read_to_end(rows | padded_batch(1) | skip(2));
      return read_all(rows);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const MemoryFile file(data + 2, size - 2);
  try {
    read(file.path(), data[0], data[1], size <= 32);
  } catch (const Error&) {
  }
  return 0;
}
