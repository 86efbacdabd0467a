#include "random_augmentation.h"

#include <iterator>

namespace belfry::data {
namespace {

const char* const augmentations[] = {
    R"({"name":"flip_horizontal"})",
    R"({"name":"flip_vertical"})",
    R"({"name":"rotate"})",
    R"({"name":"affine"})",
    R"({"name":"perspective"})",
    R"({"name":"elastic"})",
    R"({"name":"brightness"})",
    R"({"name":"color_jitter"})",
    R"({"name":"hue"})",
    R"({"name":"grayscale","probability":0.5})",
    R"({"name":"gaussian_blur"})",
    R"({"name":"gaussian_noise"})",
    R"({"name":"jpeg_artefacts"})",
    R"({"name":"cutout"})",
    R"({"name":"random_erasing"})",
    R"({"name":"pad_and_crop","padding":2})",
    R"({"name":"crop","height":6,"width":5})",
    R"({"name":"resize","height":7,"width":9})",
    R"({"name":"random_resized_crop","height":8,"width":8})",
};

}  // namespace

Augmentation random_augmentation(PhiloxStream& random, int depth) {
  const std::uint64_t which = random.below(depth > 1 ? 6 : 9);
  if (which == 6) {
    Augmentation first = random_augmentation(random, depth + 1),
                 second = random_augmentation(random, depth + 1);
    return compose({first, second});
  }
  if (which == 7) {
    Augmentation first = random_augmentation(random, depth + 1),
                 second = random_augmentation(random, depth + 1);
    return one_of({first, second}, {2, 1});
  }
  if (which == 8) return sometimes(0.5, random_augmentation(random, depth + 1));
  return augmentation_from_json(augmentations[random.below(std::size(augmentations))]);
}

}  // namespace belfry::data
