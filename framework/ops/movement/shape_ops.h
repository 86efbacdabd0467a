#pragma once
// Ops that move elements and compute nothing.

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "belfry/framework/graph/graph.h"

namespace belfry {

/// One size may be -1: it follows from the others.
Tensor reshape(Tensor x, std::vector<std::int64_t> sizes);
Tensor reshape(Tensor x, const Shape& shape);
inline Tensor reshape(Tensor x, std::initializer_list<std::int64_t> sizes) {  // reshape(x, {-1, 4})
  return reshape(x, std::vector<std::int64_t>(sizes));
}
Tensor flatten(Tensor x);  ///< [n, ...] to [n, product of the rest]
Tensor transpose(Tensor x, std::vector<int> permutation = {});  ///< empty: axes reversed
Tensor broadcast_to(Tensor x, const Shape& shape);

Tensor concat(std::vector<Tensor> parts, int axis);
/// Pieces of the given sizes along an axis; they must add up to its size.
std::vector<Tensor> split(Tensor x, std::vector<std::int64_t> sizes, int axis);
/// `pieces` equal pieces; the axis' size must be divisible.
std::vector<Tensor> split(Tensor x, int pieces, int axis);
/// Equal shapes along a new axis.
Tensor stack(std::vector<Tensor> parts, int axis = 0);
/// Each axis repeated: one count an axis.
Tensor tile(Tensor x, std::vector<std::int64_t> repeats);

struct SliceOptions {
  std::vector<std::int64_t> begin = {};    ///< first index, one an axis, 0 <= begin
  std::vector<std::int64_t> size = {};     ///< number of elements, one an axis; -1: to the end
  std::vector<std::int64_t> strides = {};  ///< at least 1; empty: all 1
  BELFRY_FIELDS(begin, size, strides)
};
Tensor slice(Tensor x, SliceOptions options);

struct PadOptions {
  std::vector<std::int64_t> before = {};  ///< elements added in front, one an axis, at least 0
  std::vector<std::int64_t> after = {};   ///< elements added behind
  double value = 0;
  BELFRY_FIELDS(before, after, value)
};
Tensor pad(Tensor x, PadOptions options);

/// Rows of x along `axis` picked by `indices` (i32 or i64, any shape): shape x[:axis] + indices +
/// x[axis+1:]. An index outside the axis is an error when the step runs.
Tensor gather(Tensor x, Tensor indices, int axis = 0);

struct OneHotOptions {
  std::int64_t depth = 0;  ///< number of classes, at least 1
  double on = 1, off = 0;
  DType dtype = DType::f32;
  BELFRY_FIELDS(depth, on, off, dtype)
};
/// [...] integer indices to [..., depth]; an index outside 0..depth-1 gives a row of `off`.
Tensor one_hot(Tensor indices, OneHotOptions options);

}  // namespace belfry
