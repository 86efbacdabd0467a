#pragma once
// A random change of an example, as a value.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/tensor/features.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry::data {

/// A random change of an example: what flip_horizontal(), crop() and the others return. It has a
/// name and options, prints as one line of JSON and is read back from it. Usable alone, or in
///
///   data::map(flip_horizontal({.probability = 0.5}), {.workers = data::autotune, .seed = 1})
///
/// Random numbers: a call takes one 64-bit number from the stream, whatever happens, and keys with
/// it a stream of its own. So the result depends on the stream alone, and neither the options of an
/// augmentation nor the size of an image changes what comes after it.
///
/// Arrays that somebody else holds too are not overwritten, except for batches (mixup, cutmix).
/// Unless its declaration says otherwise, an augmentation
/// - works on the feature named by the option `image`: [h, w, c], all sizes at least 1 and c at
///   most 512, u8 or f32, or of any element type where elements only move: flips, crop,
///   center_crop, pad_and_crop, rotate90, flip3d; the result has the same element type;
/// - if it moves pixels, moves those of the features named by the option `masks` alike: [h, w] or
///   [h, w, c] with the image's h and w, of any element type. Masks are never blended: they hold
///   the values they had, and `mask_fill`, which their element type must hold exactly (f32 takes
///   the nearest to a fraction);
/// - takes the option `fill` in the image's own numbers, so 0 to 255 in u8, rounded to nearest with
///   halves up; one that the element type cannot hold is an Error of the call;
/// - if it changes colours, expects f32 images to lie in [0, 1] and u8 images in 0..255, leaves the
///   result there, and leaves masks alone. Channels are in the order red, green, blue.
///
/// Thread rules: a value, cheap to copy; any number of threads may call one. A call computes on the
/// thread that makes it: see belfry/data/opencv.h.
/// Errors of a call: a feature that is not there (naming those that are), of another rank, type or
/// size than stated. They begin with the augmentation's name.
class Augmentation {
 public:
  /// Changes the features in place. The stream is that of this call alone.
  using Apply = std::function<void(Features&, PhiloxStream&)>;

  /// For definition.h. `json` is what to_string() returns.
  Augmentation(std::string name, std::string json, Apply apply);

  /// The changed features. Takes one 64-bit number from `random`.
  Features operator()(Features in, PhiloxStream& random) const;
  /// With random numbers that are always the same: for one that uses none, as resize and normalize.
  Features apply(Features in) const;

  const std::string& name() const { return content_->name; }  ///< as in JSON
  const std::string& json() const { return content_->json; }  ///< the text of to_string()

 private:
  struct Content {
    std::string name, json;
    Apply apply;
  };
  std::shared_ptr<const Content> content_;
};

/// Name and all options as one line of JSON:
/// {"name":"flip_horizontal","probability":0.5,"image":"image","masks":[]}
inline std::string to_string(const Augmentation& augmentation) { return augmentation.json(); }

/// The inverse of to_string(), exact to the bit. Options left out have their defaults. Error naming
/// the place: not JSON, nested more than 64 deep, no such augmentation (listing all), no such
/// option (listing those there are), a value of another kind or outside its range.
Augmentation augmentation_from_json(std::string_view text);

/// The names that augmentation_from_json() knows, in alphabetical order.
std::vector<std::string> augmentation_names();

}  // namespace belfry::data
