#pragma once
// The common parts of the tests of neural-network ops.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../base/error_of.h"
#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "belfry/framework/ops/ops.h"
#include "belfry/framework/runtime/check_op.h"
#include "belfry/framework/runtime/evaluate.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry::testing {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

/// Values in [-2, 2), different for each seed.
inline Array noise(const Shape& shape, std::uint64_t seed = 1) {
  Array out(shape, DType::f32);
  PhiloxStream random(philox_key(seed, shape.elements()));
  for (float& x : out.span<float>()) x = static_cast<float>(4 * random.uniform_double() - 2);
  return out;
}

/// The elements of a tensor that depends on constants alone, computed by the reference kernels.
inline std::vector<double> values(const Tensor& t) {
  Array a = evaluate({t}, {}, {.fast = false})[0];
  std::vector<double> out;
  for (std::int64_t i = 0; i < a.elements(); ++i) out.push_back(a.at(i));
  return out;
}

inline Tensor floats(Graph& graph, const Shape& shape, std::vector<float> elements) {
  return constant(graph, Array::of(std::span<const float>(elements), shape));
}

/// The gradients of the sum of squares of y: outputs whose own gradients are second derivatives.
inline std::vector<Tensor> square_gradients(Tensor y, std::span<const Tensor> xs) {
  return gradients(sum(square(y)), xs);
}

}  // namespace belfry::testing
