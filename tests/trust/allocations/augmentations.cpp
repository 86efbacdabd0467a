#include "belfry/data/augment/augment.h"
#include "scenario_kinds.h"

namespace belfry {
namespace {

using namespace data;
using Changes = std::vector<Augmentation>;

// Batches are overwritten by some: each run has its own.
void add(Scenarios& all, const char* name, Changes changes, Features input) {
  all[name] = [=] {
    return std::make_unique<Finds>([](const TemporaryFolder&) {},
                                   [=](const TemporaryFolder&) {
                                     PhiloxStream random(philox_key(1, "augment"));
                                     Features own;
                                     for (const auto& [name, array] : input)
                                       own.set(name, array.clone());
                                     return digest(compose(changes)(own, random));
                                   });
  };
}

void add_of_images(Scenarios& all) {
  const Features image{{"image", some_image()}};
  add(all, "augment",
      {random_resized_crop({.height = 5, .width = 6}), flip_horizontal(),
       color_jitter({0.1, 0.1, 0.1, 0.1}), rotate({.degrees = {-9, 9}})},
      image);
  add(all, "augment_shapes",
      {affine({.translate_x = 0.1, .shear_x = {-5, 5}}), perspective(),
       elastic({.alpha = 3, .sigma = 1}), flip_vertical()},
      image);
  add(all, "augment_faults",
      {gaussian_blur(), gaussian_noise(), jpeg_artefacts(), cutout({.size = 2}),
       random_erasing({.probability = 1})},
      image);
  add(all, "augment_sizes",
      {pad_and_crop({.padding = 2}), resize({.height = 8, .width = 8}),
       resize_short_side({.size = 7}), multi_scale({.sizes = {6, 9}}),
       crop({.height = 5, .width = 5}), center_crop({.height = 4, .width = 4})},
      image);
  add(all, "augment_colours",
      {brightness(), contrast(), saturation(), hue(), grayscale(),
       normalize({.mean = {0.5}, .deviation = {0.2}})},
      image);
  add(all, "augment_at_random",
      {one_of({flip_horizontal({.probability = 1}), hue()}, {1, 2}), sometimes(0.5, brightness()),
       sometimes(1, compose({flip_vertical({.probability = 1}), to_float()}))},
      image);
}

void add_of_others(Scenarios& all) {
  Array volume = some_image().reshape({3, 3, 7, 3});
  add(all, "augment_volume",
      {flip3d({.depth = 1, .height = 1, .width = 1}), rotate90(), rotate3d({.degrees = {5, 9}}),
       elastic3d({.alpha = 2, .sigma = 1})},
      {{"image", volume}});
  add(all, "augment_batch", {mixup({.classes = 4}), cutmix()},
      {{"image", volume}, {"label", Array::of<std::int64_t>({0, 3, 1})}});
  add(all, "augment_words",
      {string_lookup({.feature = "word", .vocabulary = {"a", "bc"}, .buckets = 3})},
      {{"word", Array::of<std::uint8_t>({'b', 'c'})}});
}

}  // namespace

void add_augmentations(Scenarios& all) {
  add_of_images(all);
  add_of_others(all);
  const std::string json = compose({one_of({flip_horizontal(), hue()}, {1, 2}),
                                    normalize({.mean = {0.5, 0.25}, .deviation = {0.1}})})
                               .json();
  all["augmentation_from_json"] = [=] {
    return std::make_unique<Finds>(
        [](const TemporaryFolder&) {},
        [=](const TemporaryFolder&) { return augmentation_from_json(json).json(); });
  };
}

}  // namespace belfry
