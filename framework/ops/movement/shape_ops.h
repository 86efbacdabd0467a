#pragma once
// Ops that move elements and compute nothing.

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "belfry/framework/graph/graph.h"

namespace belfry {

/// The same elements, in row-major order, under other sizes. One size of a list may be -1: it
/// follows from the others.
///@{
Tensor reshape(Tensor x, std::vector<std::int64_t> sizes);
Tensor reshape(Tensor x, const Shape& shape);
inline Tensor reshape(Tensor x, std::initializer_list<std::int64_t> sizes) {  // reshape(x, {-1, 4})
  return reshape(x, std::vector<std::int64_t>(sizes));
}
///@}
Tensor flatten(Tensor x);  ///< [n, ...] to [n, product of the rest]
Tensor transpose(Tensor x, std::vector<int> permutation = {});  ///< empty: axes reversed
/// x repeated along its axes of size 1 and along new axes in front, as in NumPy.
Tensor broadcast_to(Tensor x, const Shape& shape);

/// The parts one behind the other along an axis, in which alone their shapes may differ.
Tensor concat(std::vector<Tensor> parts, int axis);
/// Pieces of the given sizes along an axis; they must add up to its size.
std::vector<Tensor> split(Tensor x, std::vector<std::int64_t> sizes, int axis);
/// `pieces` equal pieces; the axis' size must be divisible.
std::vector<Tensor> split(Tensor x, int pieces, int axis);
/// Equal shapes along a new axis.
Tensor stack(std::vector<Tensor> parts, int axis = 0);
/// Each axis repeated: one count an axis.
Tensor tile(Tensor x, std::vector<std::int64_t> repeats);

/// Options of slice().
struct SliceOptions {
  std::vector<std::int64_t> begin = {};    ///< first index, one an axis, 0 <= begin
  std::vector<std::int64_t> size = {};     ///< number of elements, one an axis; -1: to the end
  std::vector<std::int64_t> strides = {};  ///< at least 1; empty: all 1
  BELFRY_FIELDS(begin, size, strides)
};
/// `size` elements along each axis, from `begin` on, every `strides`-th. Error: one is outside x.
Tensor slice(Tensor x, SliceOptions options);

/// Options of pad().
struct PadOptions {
  std::vector<std::int64_t> before = {};  ///< elements added in front, one an axis, at least 0
  std::vector<std::int64_t> after = {};   ///< elements added behind
  double value = 0;                       ///< value of the added elements; x's dtype must hold it
  BELFRY_FIELDS(before, after, value)
};
/// x with elements of one value around it.
Tensor pad(Tensor x, PadOptions options);

/// Rows of x along `axis` picked by `indices` (i32 or i64, any shape): shape x[:axis] + indices +
/// x[axis+1:]. An index outside the axis is an error when the step runs.
Tensor gather(Tensor x, Tensor indices, int axis = 0);

/// Options of one_hot().
struct OneHotOptions {
  std::int64_t depth = 0;  ///< number of classes, at least 1
  /// Value at the index; `dtype` must hold it and `off`.
  double on = 1, off = 0;    ///< value elsewhere
  DType dtype = DType::f32;  ///< type of the result
  BELFRY_FIELDS(depth, on, off, dtype)
};
/// [...] integer indices to [..., depth]; an index outside 0..depth-1 gives a row of `off`.
Tensor one_hot(Tensor indices, OneHotOptions options);

}  // namespace belfry
