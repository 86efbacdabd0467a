#pragma once
// Comparing what a GPU computes with the reference kernels.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "belfry/framework/ops/ops.h"
#include "belfry/framework/runtime/evaluate.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry {

/// Numbers in [low, high), the same in every run; whole ones for whole types.
inline Array numbers(const Shape& shape, DType dtype, double low = -2, double high = 2,
                     std::uint64_t seed = 11) {
  Array values(shape, DType::f64);
  PhiloxStream random(philox_key(seed, static_cast<std::uint64_t>(shape.elements())));
  for (double& x : values.span<double>()) x = low + (high - low) * random.uniform_double();
  return values.cast(dtype);
}

constexpr DType floating_types[] = {DType::f64, DType::f32, DType::bf16, DType::f16};

/// The error that one op may have after `roundings` in the type in which it computes, and one in
/// its own. f64: the reference, too, computes in double, and adds up one by one.
inline double allowed(DType dtype, double roundings) {
  switch (dtype) {
    case DType::f64:
      return 0x1p-42;
    case DType::f32:
      return roundings * 0x1p-23;
    case DType::bf16:
      return roundings * 0x1p-23 + 0x1p-7;
    case DType::f16:
      return roundings * 0x1p-23 + 0x1p-10;
    default:
      return 0;
  }
}

/// The largest difference between two arrays over the largest magnitude in the second; infinite
/// where one is NaN and the other is not.
inline double relative_difference(const Array& a, const Array& b) {
  EXPECT_EQ(a.type(), b.type());
  double scale = 1e-300, most = 0;
  for (std::int64_t i = 0; i < b.elements(); ++i) {
    double x = a.at(i), y = b.at(i);
    if (std::isfinite(y)) scale = std::max(scale, std::abs(y));
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    most = std::max(most, std::isfinite(x - y) ? std::abs(x - y) : HUGE_VAL);
  }
  return most == 0 ? 0 : most / scale;
}

/// Runs `outputs` by the reference kernels and on the GPU: the largest relative difference, or a
/// failure of the test if the two have different types.
inline double difference_on_gpu(const std::vector<Tensor>& outputs,
                                const std::map<std::string, Array>& inputs = {}) {
  auto wanted = evaluate(outputs, inputs, {.fast = false, .seed = 3, .step = 5});
  auto got = evaluate(outputs, inputs, {.seed = 3, .step = 5, .device = "cuda"});
  double most = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    most = std::max(most, relative_difference(got[i], wanted[i]));
  return most;
}

}  // namespace belfry
