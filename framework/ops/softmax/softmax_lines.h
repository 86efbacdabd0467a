#pragma once
// The common parts of softmax, log_softmax and sparse_softmax_cross_entropy.

#include <algorithm>
#include <cmath>
#include <limits>

#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/nn_checks.h"

namespace belfry {

/// The elements of a tensor along one axis, everything else fixed.
struct Line {
  std::int64_t start;
  std::int64_t stride;
  std::int64_t size;
  std::int64_t at(std::int64_t i) const { return start + i * stride; }
};

/// Calls f(line) for every line along `axis`, in row-major order of the other axes.
template <class F>
void for_each_line(const Shape& shape, int axis, F&& f) {
  std::int64_t outer = 1, inner = 1, size = shape[axis];
  for (int i = 0; i < axis; ++i) outer *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) f(Line{o * size * inner + i, inner, size});
}

template <class T>
double line_max(const T* x, const Line& line) {
  double highest = -std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < line.size; ++i) highest = std::max(highest, load(x[line.at(i)]));
  return highest;
}

/// Sum of exp(x - highest): at least 1 when `highest` is the maximum, so its logarithm is safe.
template <class T>
double line_exp_sum(const T* x, const Line& line, double highest) {
  double sum = 0;
  for (std::int64_t i = 0; i < line.size; ++i) sum += std::exp(load(x[line.at(i)]) - highest);
  return sum;
}

inline std::vector<TensorType> softmax_shape(const ShapeContext& c) {
  require_floating(c.op, "input", c.inputs[0]);
  return {c.inputs[0]};
}

inline AxisOptions softmax_axis(std::string_view op, const Tensor& logits, int axis) {
  require_defined(op, {logits});
  check_at(logits, [&] { axis = normalize_axis(axis, logits.rank(), op); });
  return {.axis = axis};
}

/// For each element: maximum, difference, exponential, sum, and what is done with the sum.
inline double softmax_flops(const Node& node) { return 5.0 * node.input(0).shape().elements(); }

inline std::vector<int> first_input_in_place(const Node&) { return {0}; }

}  // namespace belfry
