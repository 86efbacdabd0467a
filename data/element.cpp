#include "belfry/data/element.h"

#include <algorithm>

namespace belfry::data {

std::string to_string(const Element& element) {
  std::string out = concat("element ", element.index, ", epoch ", element.epoch);
  if (element.file) out += ", of " + *element.file;
  if (element.file && element.offset != Element::whole_file)
    out += concat(" at byte ", element.offset);
  return out;
}

void require_defined(const Features& features) {
  for (const auto& [name, array] : features)
    require(array.defined(), "the feature `", name, "` is undefined; give it elements");
}

void prepare(Features& features, const Signature& signature) {
  bool same_names =
      std::equal(features.begin(), features.end(), signature.begin(), signature.end(),
                 [](const auto& item, const auto& wanted) { return item.first == wanted.first; });
  if (!same_names) {
    features.clear();
    for (const auto& [name, type] : signature) features.set(name, Array());
  }
  auto wanted = signature.begin();
  for (auto& [name, array] : features) {
    const TensorType& type = (wanted++)->second;
    if (array.type() != type || !array.exclusive()) array = Array(type);
  }
}

}  // namespace belfry::data
