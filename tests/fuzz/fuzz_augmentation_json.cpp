// Any bytes are either an augmentation, which prints and reads back as itself, or an Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/data/augment/augment.h"
#include "belfry/framework/base/error.h"
#include "json_mutator.h"

namespace {

using namespace belfry;
using namespace belfry::data;

/// Each augmentation with all its options, as far as they have defaults.
std::vector<Json> augmentations() {
  std::vector<Json> out;
  for (const std::string& name : augmentation_names()) {
    const Json bare{{"name", name}};
    try {
      out.push_back(Json::parse(to_string(augmentation_from_json(bare.dump()))));
    } catch (const Error&) {  // it has options without a default
      out.push_back(bare);
    }
  }
  return out;
}

/// Names of augmentations and of their options, and texts that these may have.
std::vector<std::string> words() {
  std::vector<std::string> out{"of", "label", "image", "mask", "a", "nearest", "linear"};
  for (const Json& one : augmentations())
    for (const auto& member : one.items()) {
      out.push_back(member.key());
      if (member.value().is_string()) out.push_back(member.value());
    }
  return out;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  static const std::vector<std::string> known = words();
  static const std::vector<Json> all = augmentations();
  return mutate_json(data, size, max_size, seed, [&](Json& document) {
    JsonMutator mutator(seed, known);
    for (std::size_t i = 0, n = 1 + mutator.below(3); i < n; ++i) mutator.change(document);
    // Lists of augmentations, which only some names have.
    if (Json* list = document.is_object() && document.contains("of") ? &document["of"] : nullptr;
        list && list->is_array() && mutator.below(2) == 0)
      list->push_back(mutator.one_of(all));
    else if (mutator.below(20) == 0)
      document = mutator.one_of(all);
  });
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string printed;
  try {
    printed = to_string(augmentation_from_json({reinterpret_cast<const char*>(data), size}));
  } catch (const Error&) {
    return 0;
  }
  if (to_string(augmentation_from_json(printed)) != printed) std::abort();
  return 0;
}
