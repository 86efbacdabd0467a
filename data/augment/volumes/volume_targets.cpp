#include "belfry/data/augment/volumes/volume_targets.h"

#include <algorithm>
#include <cstring>

#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

bool good_sizes(const Shape& s, int spatial) {
  for (int axis = 0; axis < spatial; ++axis)
    if (s[axis] < 1 || s[axis] > longest_side) return false;
  return s.rank() == spatial || (s[spatial] >= 1 && s[spatial] <= most_channels);
}

}  // namespace

VolumeTargets::VolumeTargets(Features& features, const std::string& image,
                             const std::vector<std::string>& masks, Elements elements,
                             bool flat_too) {
  Array& first = features.at(image);
  const Shape s = first.shape();
  bool flat = flat_too && s.rank() == 3;
  int spatial = flat ? 2 : 3;
  bool fits = first.defined() && s.rank() == spatial + 1 && good_sizes(s, spatial);
  require(fits, "feature `", image, "` must be a volume [d, h, w, c]",
          flat_too ? " or an image [h, w, c]" : "", " with sides of 1 to ", longest_side,
          " and 1 to ", most_channels, " channels; got ", first.type());
  check_elements(image, first, elements);
  targets_.push_back({image, &first});
  for (const std::string& name : masks) {
    Array& mask = features.at(name);
    const Shape& m = mask.shape();
    bool same = mask.defined() && (m.rank() == spatial || m.rank() == spatial + 1)
                && good_sizes(m, spatial) && std::equal(s.begin(), s.begin() + spatial, m.begin());
    require(same, "mask `", name, "` must have the sizes of the image, ", s,
            ", with or without channels; got ", mask.type());
    targets_.push_back({name, &mask});
  }
  sizes_ = flat ? std::array<std::int64_t, 3>{1, s[0], s[1]}
                : std::array<std::int64_t, 3>{s[0], s[1], s[2]};
}

void VolumeTargets::map(const std::function<Array(const Array& from, PixelKind kind)>& map) {
  std::int64_t voxels = sizes_[0] * sizes_[1] * sizes_[2];
  for (const auto& [name, array] : targets_) {
    Shape shape = array->shape();
    Array from = array->reshape({sizes_[0], sizes_[1], sizes_[2], shape.elements() / voxels});
    *array = map(from, {array != targets_[0].array, array->dtype(), name}).reshape(shape);
  }
}

Array rearranged(const Array& from, const std::array<int, 3>& source,
                 const std::array<bool, 3>& reversed) {
  const Shape& s = from.shape();
  auto voxel = s[3] * static_cast<std::int64_t>(size_of(from.dtype()));
  const std::int64_t strides[3] = {voxel * s[2] * s[1], voxel * s[2], voxel};
  std::array<std::int64_t, 3> size{}, step{};  // of the result's axes, in bytes of `from`
  std::int64_t start = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    size[axis] = s[source[axis]];
    step[axis] = strides[source[axis]];
    if (!reversed[axis]) continue;
    start += (size[axis] - 1) * step[axis];
    step[axis] = -step[axis];
  }
  Array out({size[0], size[1], size[2], s[3]}, from.dtype());
  const std::byte* corner = from.raw_bytes().data() + start;
  std::byte* to = out.raw_bytes().data();
  // Rows that stay as they are go in one piece.
  std::int64_t piece = step[2] == voxel ? voxel * size[2] : voxel;
  for (std::int64_t i = 0; i < size[0]; ++i)
    for (std::int64_t j = 0; j < size[1]; ++j)
      for (std::int64_t k = 0; k < size[2]; k += piece / voxel, to += piece)
        std::memcpy(to, corner + i * step[0] + j * step[1] + k * step[2], piece);
  return out;
}

}  // namespace belfry::data
