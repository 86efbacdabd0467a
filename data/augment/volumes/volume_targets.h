#pragma once
// The volumes that an augmentation works on, checked.

#include <array>
#include <functional>

#include "belfry/data/augment/targets.h"

namespace belfry::data {

/// A volume [d, h, w, c] and its masks. Error of the constructor: see volume.h.
class VolumeTargets {
 public:
  /// With `flat_too` an image [h, w, c] is a volume of one slice.
  VolumeTargets(Features& features, const std::string& image, const std::vector<std::string>& masks,
                Elements elements = Elements::u8_or_f32, bool flat_too = false);

  std::int64_t size(int axis) const { return sizes_[axis]; }

  /// Replaces each array by what `map` makes of it; both are [d, h, w, c] of the same shape.
  void map(const std::function<Array(const Array& from, PixelKind kind)>& map);

 private:
  struct Target {
    std::string name;
    Array* array;
  };
  std::vector<Target> targets_;  // the image first
  std::array<std::int64_t, 3> sizes_{};
};

/// Index i of the result's axis a is index i of axis source[a] of `from` [d, h, w, c], counted from
/// the end where reversed[a].
Array rearranged(const Array& from, const std::array<int, 3>& source,
                 const std::array<bool, 3>& reversed);

}  // namespace belfry::data
