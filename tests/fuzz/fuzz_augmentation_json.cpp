// Any bytes are either an augmentation, which prints and reads back as itself, or an Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "belfry/data/augment.h"
#include "belfry/framework/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using belfry::data::Augmentation, belfry::data::augmentation_from_json;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string printed;
  try {
    printed = to_string(augmentation_from_json(text));
  } catch (const belfry::Error&) {
    return 0;
  }
  if (to_string(augmentation_from_json(printed)) != printed) std::abort();
  return 0;
}
