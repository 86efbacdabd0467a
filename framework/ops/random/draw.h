#pragma once
// How random ops draw: the scheme that random.h describes.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "belfry/framework/graph/op_def.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry {

/// The words of four neighbouring elements of one row.
struct RandomBlock {
  PhiloxKey key;
  std::uint64_t low = 0, step = 0;

  BELFRY_HOST_DEVICE std::array<std::uint32_t, 4> words(std::uint64_t attempt = 0) const {
    return philox(key, low, attempt << 48 | step);
  }
};

/// Calls f(first, count, block) for each block of a result of shape `shape`: elements first ..
/// first + count - 1, count <= 4, have the block's words 0 .. count - 1.
template <class F>
void for_each_block(const ArrayView& random_state, const Shape& shape, std::uint64_t stream,
                    F&& f) {
  const auto* state = random_state.as<const std::int64_t>();
  std::uint64_t seed = state[0];
  RandomBlock block{.key = philox_key(seed, stream),
                    .low = 0,
                    .step = static_cast<std::uint64_t>(state[1]) & 0xffffffffffff};
  std::int64_t rows = shape.rank() == 0 ? 1 : shape[0];
  std::int64_t width = rows == 0 ? 0 : shape.elements() / rows;
  for (std::int64_t r = 0; r < rows; ++r) {
    std::uint64_t row = shape.rank() == 0 ? 0 : state[2] + r;
    for (std::int64_t e = 0; e < width; e += 4) {
      block.low = row << 32 | (e / 4);
      f(r * width + e, std::min<std::int64_t>(4, width - e), block);
    }
  }
}

/// Four independent numbers with mean 0 and variance 1 (Box and Muller 1958).
BELFRY_HOST_DEVICE inline std::array<double, 4> normals(const std::array<std::uint32_t, 4>& words) {
  std::array<double, 4> z{};
  for (std::size_t i = 0; i < 4; i += 2) {
    double radius = std::sqrt(-2 * std::log((words[i] + 1.0) * 0x1p-32));
    double angle = 2 * std::numbers::pi * 0x1p-32 * words[i + 1];
    z[i] = radius * std::cos(angle);
    z[i + 1] = radius * std::sin(angle);
  }
  return z;
}

/// The largest number of type T below x.
template <class T>
BELFRY_HOST_DEVICE T number_below(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::nextafter(x, -std::numeric_limits<T>::infinity());
  } else {  // 16-bit floats are ordered as their bits, sign apart
    constexpr std::uint16_t sign = 0x8000;
    T below = x;
    if ((x.bits & ~sign) == 0) {
      below.bits = sign | 1;
    } else {
      below.bits = static_cast<std::uint16_t>(x.bits & sign ? x.bits + 1 : x.bits - 1);
    }
    return below;
  }
}

/// Shape rule of the random ops with RandomOptions.
std::vector<TensorType> random_shape(const ShapeContext& c);

}  // namespace belfry
