#pragma once
// The common parts of the tests of elementwise ops, reductions, movements and random ops.

#include <initializer_list>
#include <limits>

#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/ops.h"
#include "belfry/framework/ops/random/random.h"
#include "nn_support.h"

namespace belfry::testing {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class T>
Tensor tensor(Graph& graph, const Shape& shape, std::initializer_list<T> elements) {
  return constant(graph, Array::of(elements, shape));
}

/// Matches these elements up to 4 units in the last place; NaN matches NaN.
inline auto same(const std::vector<double>& elements) {
  return ::testing::Pointwise(::testing::NanSensitiveDoubleEq(), elements);
}

/// A reference kernel alone, without a graph.
inline Array run(const OpDef& op, const std::vector<Array>& inputs, const Options& options) {
  std::vector<TensorType> types;
  std::vector<ArrayView> views;
  for (const Array& a : inputs) {
    types.push_back(a.type());
    views.push_back({a.type(), const_cast<void*>(a.raw())});
  }
  Array out(op.shape({op.name, types, options})[0]);
  ArrayView result{out.type(), out.raw()};
  op.reference({op.name, views, {&result, 1}, options});
  return out;
}

/// The elements of d sum(y) / dx.
inline std::vector<double> slope(Tensor y, Tensor x) {
  return values(gradients(sum(y), std::vector<Tensor>{x})[0]);
}

/// Values in [low, high), different for each seed.
inline Array noise_between(double low, double high, const Shape& shape, std::uint64_t seed = 1) {
  Array out(shape, DType::f32);
  PhiloxStream random(philox_key(seed, shape.elements()));
  for (float& x : out.span<float>())
    x = static_cast<float>(low + (high - low) * random.uniform_double());
  return out;
}

/// Friendly and odd shapes: scalar, size 1, empty, primes, high rank.
inline const std::vector<Shape> shapes = {{}, {1}, {0, 3}, {7}, {4, 8}, {1, 2, 1, 1, 3, 1, 1, 2}};

/// Pairs that broadcast, in both operands.
inline const std::vector<std::pair<Shape, Shape>> shape_pairs = {
    {{}, {}},
    {{3, 4}, {3, 4}},
    {{5}, {}},
    {{}, {2, 3}},
    {{2, 3}, {3}},
    {{3}, {2, 3}},
    {{2, 1, 5}, {3, 1}},
    {{0, 3}, {3}},
    {{1}, {0}},
    {{1, 1}, {7, 1}},
    {{2, 1, 1, 1, 3, 1, 1, 2}, {1, 2, 1, 1, 1, 1, 1, 1}}};

}  // namespace belfry::testing
