#pragma once
// Small images and exact bounds for the tests of augmentations.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "belfry/data/augment/augment.h"
#include "pipeline.h"

namespace belfry::data {

using Floats = std::vector<float>;
using Bytes = std::vector<std::uint8_t>;
using Names = std::vector<std::string>;

inline PhiloxStream stream(std::uint64_t seed) {
  return PhiloxStream(philox_key(seed, "augment tests"));
}

/// The stream that an augmentation called with stream(seed) draws from.
inline PhiloxStream inner_stream(std::uint64_t seed) {
  PhiloxStream outer = stream(seed);
  return PhiloxStream(PhiloxKey{outer.next_u64()});
}

template <class T>
Array image(const Shape& shape, const std::vector<T>& values) {
  return Array::of(std::span<const T>(values), shape);
}

template <class T>
std::vector<T> values_of(const Array& array) {
  return {array.span<T>().begin(), array.span<T>().end()};
}

/// The values 1, 2, 3, ... in this shape and type.
inline Array numbered(const Shape& shape, DType dtype = DType::f32) {
  Array out(shape, DType::f32);
  float next = 0;
  for (float& x : out.span<float>()) x = ++next;
  return out.cast(dtype);
}

/// Uniform random values: 0..255 in u8, [0, 1) in f32, 0..9 in others.
inline Array noise(const Shape& shape, DType dtype, std::uint64_t seed = 1) {
  PhiloxStream random(philox_key(seed, "noise"));
  Array out(shape, DType::f32);
  for (float& x : out.span<float>())
    x = dtype == DType::f32 ? random.uniform()
                            : static_cast<float>(random.below(dtype == DType::u8 ? 256 : 10));
  return out.cast(dtype);
}

/// The image that `augmentation` makes of this one.
inline Array applied(const Augmentation& augmentation, const Array& input, std::uint64_t seed = 1) {
  PhiloxStream random = stream(seed);
  return augmentation({{"image", input}}, random).at("image");
}

inline Floats floats(const Augmentation& augmentation, const Array& input, std::uint64_t seed = 1) {
  return values_of<float>(applied(augmentation, input, seed).cast(DType::f32));
}

/// The error that the call fails with.
inline std::string call_error(const Augmentation& augmentation, const Features& features) {
  return error_of([&] {
    PhiloxStream random = stream(1);
    augmentation(features, random);
  });
}

/// Checks that `count` successes of `trials` are likely if each has probability p: neither tail of
/// the binomial distribution from there on is below one in a million.
inline void expect_binomial(std::int64_t count, std::int64_t trials, double p) {
  auto n = static_cast<double>(trials);
  double lower = 0, upper = 0;
  for (std::int64_t k = 0; k <= trials; ++k) {
    auto x = static_cast<double>(k);
    double mass = std::exp(std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1)
                           + x * std::log(p) + (n - x) * std::log1p(-p));
    if (k <= count) lower += mass;
    if (k >= count) upper += mass;
  }
  EXPECT_GT(std::min(lower, upper), 1e-6) << count << " of " << trials << ", probability " << p;
}

/// [h, w, 2] f32: each pixel holds its own x and y, so that what is sampled tells the place.
inline Array coordinates(std::int64_t height, std::int64_t width) {
  Array out({height, width, 2}, DType::f32);
  float* p = out.span<float>().data();
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x) {
      *p++ = static_cast<float>(x);
      *p++ = static_cast<float>(y);
    }
  return out;
}

}  // namespace belfry::data
