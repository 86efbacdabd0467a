#include <algorithm>
#include <cmath>
#include <cstring>
#include <opencv2/imgproc.hpp>

#include "belfry/data/augment/definition.h"
#include "belfry/data/augment/pixels.h"
#include "belfry/data/augment/random.h"
#include "belfry/data/augment/volumes/volume.h"
#include "belfry/data/augment/volumes/volume_targets.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

// For each voxel [d, h, w] the place along one axis that it is fetched from, within the volume.
using Coordinates = std::vector<float>;

Coordinates draw_coordinates(const Elastic3dOptions& o, const VolumeTargets& targets, int axis,
                             PhiloxStream& random) {
  int d = targets.size(0), h = targets.size(1), w = targets.size(2);
  Coordinates out(targets.size(0) * targets.size(1) * targets.size(2));
  fill_uniform(out, -1, 1, random);
  int side = 2 * static_cast<int>(std::ceil(4 * o.sigma)) + 1;
  for (int z = 0; z < d; ++z) {
    cv::Mat slice(h, w, CV_32F, out.data() + static_cast<std::ptrdiff_t>(z) * h * w);
    cv::GaussianBlur(slice, slice, {side, side}, o.sigma, o.sigma, cv::BORDER_REFLECT);
  }
  cv::Mat columns(d, h * w, CV_32F, out.data());
  cv::GaussianBlur(columns, columns, {1, side}, o.sigma, o.sigma, cv::BORDER_REFLECT);

  float alpha = o.alpha, last = targets.size(axis) - 1;
  float* coordinate = out.data();
  for (int z = 0; z < d; ++z)
    for (int y = 0; y < h; ++y)
      for (int x = 0; x < w; ++x, ++coordinate) {
        int here = axis == 0 ? z : axis == 1 ? y : x;
        *coordinate = std::clamp(here + alpha * *coordinate, 0.0f, last);
      }
  return out;
}

// The two voxels around a place along an axis, and the share of the second.
struct Between {
  Between(float coordinate, std::int64_t size, std::int64_t stride) {
    auto low = static_cast<std::int64_t>(coordinate);
    first = low * stride;
    second = std::min(low + 1, size - 1) * stride;
    fraction = coordinate - low;
  }
  std::int64_t first, second;
  float fraction;
};

template <class T>
void sample_linear(const Array& from, const std::array<Coordinates, 3>& coordinates, Array& to) {
  const Shape& s = from.shape();
  std::int64_t channels = s[3];
  const T* in = from.span<T>().data();
  T* out = to.span<T>().data();
  for (std::size_t i = 0; i < coordinates[0].size(); ++i) {
    Between z(coordinates[0][i], s[0], s[1] * s[2] * channels);
    Between y(coordinates[1][i], s[1], s[2] * channels);
    Between x(coordinates[2][i], s[2], channels);
    auto along_x = [&](const T* p) {
      float a = p[x.first], b = static_cast<float>(p[x.second]);
      return a + x.fraction * (b - a);
    };
    auto along_y = [&](const T* p) {
      float a = along_x(p + y.first), b = along_x(p + y.second);
      return a + y.fraction * (b - a);
    };
    for (std::int64_t c = 0; c < channels; ++c) {
      float a = along_y(in + z.first + c), b = along_y(in + z.second + c);
      float value = a + z.fraction * (b - a);
      if constexpr (std::is_same_v<T, float>) {
        *out++ = value;
      } else {
        *out++ = to_pixel<T>(value);
      }
    }
  }
}

void sample_nearest(const Array& from, const std::array<Coordinates, 3>& coordinates, Array& to) {
  const Shape& s = from.shape();
  auto voxel = s[3] * static_cast<std::int64_t>(size_of(from.dtype()));
  const std::byte* in = from.raw_bytes().data();
  std::byte* out = to.raw_bytes().data();
  auto nearest = [](float coordinate) { return static_cast<std::int64_t>(coordinate + 0.5f); };
  for (std::size_t i = 0; i < coordinates[0].size(); ++i, out += voxel) {
    std::int64_t z = nearest(coordinates[0][i]), y = nearest(coordinates[1][i]),
                 x = nearest(coordinates[2][i]);
    std::memcpy(out, in + ((z * s[1] + y) * s[2] + x) * voxel, voxel);
  }
}

void apply(const Elastic3dOptions& o, Features& features, PhiloxStream& random) {
  VolumeTargets targets(features, o.image, o.masks);
  std::array<Coordinates, 3> coordinates;
  for (int axis = 0; axis < 3; ++axis)
    coordinates[axis] = draw_coordinates(o, targets, axis, random);
  targets.map([&](const Array& from, PixelKind kind) {
    Array to(from.type());
    if (kind.mask) {
      sample_nearest(from, coordinates, to);
    } else if (kind.dtype == DType::u8) {
      sample_linear<std::uint8_t>(from, coordinates, to);
    } else {
      sample_linear<float>(from, coordinates, to);
    }
    return to;
  });
}

constexpr Definition<Elastic3dOptions> definition{
    .name = "elastic3d",
    .check =
        [](const Elastic3dOptions& o) {
          require(o.alpha >= 0 && o.alpha <= 10'000, "alpha must be from 0 to 10000, got ",
                  o.alpha);
          require(o.sigma > 0 && o.sigma <= 50, "sigma must be above 0 and at most 50, got ",
                  o.sigma);
          check_targets(o.image, o.masks);
        },
    .apply = apply};

const Registered registered{definition};

}  // namespace

Augmentation elastic3d(Elastic3dOptions options) { return definition(std::move(options)); }

}  // namespace belfry::data
