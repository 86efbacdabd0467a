// Any bytes are either an augmentation, which prints and reads back as itself, or an Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/data/augment/augment.h"
#include "belfry/framework/base/error.h"

namespace {

using namespace belfry::data;

void check(std::string_view text) {
  std::string printed;
  try {
    printed = to_string(augmentation_from_json(text));
  } catch (const belfry::Error&) {
    return;
  }
  if (to_string(augmentation_from_json(printed)) != printed) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<std::string> names = augmentation_names();
  std::string text(reinterpret_cast<const char*>(data), size);
  check(text);
  if (size == 0) return 0;
  // The same bytes as the options of one of them, which is sooner found than its name.
  check("{\"name\":\"" + names[data[0] % names.size()] + "\"," + text.substr(1));
  return 0;
}
