#pragma once
// Arithmetic on single pixels.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "belfry/framework/tensor/array.h"

namespace belfry::data {

/// ITU-R BT.601.
inline constexpr float gray_weights[3] = {0.299f, 0.587f, 0.114f};

template <class T>
float gray_of(const T* rgb) {
  return gray_weights[0] * static_cast<float>(rgb[0]) + gray_weights[1] * static_cast<float>(rgb[1])
         + gray_weights[2] * static_cast<float>(rgb[2]);
}

/// The element nearest to `value`: 0..255 in u8, [0, 1] in f32. NaN gives 0.
template <class T>
T to_pixel(float value) {
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    // This order of comparisons lets NaN become 0, and adding 1/2 (where rounding by the processor
    // would be a call) keeps loops vectorisable.
    return static_cast<std::uint8_t>(std::min(std::max(0.0f, value), 255.0f) + 0.5f);
  } else {
    return std::min(std::max(0.0f, value), 1.0f);
  }
}

/// Calls f(T* pixel) for each pixel of an array [..., c], with T its element type, u8 or f32.
template <class F>
void for_pixels(Array& array, F&& f) {
  std::int64_t channels = array.shape()[array.shape().rank() - 1];
  auto run = [&](auto values) {
    for (auto* p = values.data(); p != values.data() + values.size(); p += channels) f(p);
  };
  array.dtype() == DType::u8 ? run(array.span<std::uint8_t>()) : run(array.span<float>());
}

}  // namespace belfry::data
