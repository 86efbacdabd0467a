#pragma once
// The common parts of the tests of layers, losses and metrics.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "../base/error_of.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/graph/scope.h"
#include "belfry/framework/runtime/check_op.h"
#include "belfry/framework/runtime/evaluate.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry::testing {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Values in [-2, 2), different for each seed.
inline Array noise(const Shape& shape, std::uint64_t seed = 1) {
  Array out(shape, DType::f32);
  PhiloxStream random(philox_key(seed, "noise"));
  for (float& x : out.span<float>()) x = random.uniform(-2, 2);
  return out;
}

/// sin(start), sin(start + 0.7), ..., which a peer program can write down as well.
inline Array wave(const Shape& shape, double start, double amplitude = 1) {
  Array out(shape, DType::f64);
  double i = 0;
  for (double& x : out.span<double>()) x = amplitude * std::sin(start + 0.7 * i++);
  return out;
}

inline std::vector<double> numbers(const Array& array) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < array.elements(); ++i) out.push_back(array.at(i));
  return out;
}

/// The elements of a tensor, by the reference kernels; variables have the values given.
inline std::vector<double> values(const Tensor& t, const std::map<std::string, Array>& given = {}) {
  return numbers(evaluate({t}, given, {.fast = false})[0]);
}

template <class T>
Tensor tensor(Graph& graph, const Shape& shape, std::initializer_list<T> elements) {
  return constant(graph, Array::of(elements, shape));
}

/// The values of the variable after a step: the value that the last assignment to it gives.
inline std::vector<double> after_step(Graph& graph, std::string_view variable,
                                      const std::map<std::string, Array>& given = {}) {
  Node* last = nullptr;
  for (Node* effect : graph.effects())
    if (&effect->input(0).node() == graph.find_variable(variable)) last = effect;
  EXPECT_NE(last, nullptr) << "nothing is assigned to " << variable;
  return last ? values(last->input(1), given) : std::vector<double>{};
}

/// Each within rounding: four units in the last place, in f32 unless the values are exact.
inline auto near_values(std::vector<double> expected) {
  std::vector<::testing::Matcher<double>> matchers;
  for (double e : expected)
    matchers.push_back(::testing::DoubleNear(e, std::max(std::abs(e), 0.25) * 0x1p-21));
  return ElementsAreArray(matchers);
}

}  // namespace belfry::testing
