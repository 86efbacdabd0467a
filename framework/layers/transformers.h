#pragma once
// The parts of transformers beside attention: where a step stands, norms and blocks of dense
// layers.

#include <cstdint>

#include "belfry/framework/graph/scope.h"

namespace belfry {

/// Options of rotary().
struct RotaryOptions {
  double base = 10'000;      ///< angles of pair i are position base^(-2 i / d)
  std::int64_t first = 0;    ///< position of the first step
  bool interleaved = false;  ///< pairs of neighbours (2 i, 2 i + 1), in place of (i, i + d / 2)
  /// i32 or i64 [n, t], each in 0..longest-1: where each step stands, in place of first + i.
  Tensor positions = {};
  std::int64_t longest = 0;  ///< one more than the largest of `positions`; required with them
};
/// Turns pairs of elements by angles that grow with the position: x [n, t, heads, d] -> the same, d
/// even. For queries and keys, whose products then depend on how far apart they are (Su et al.,
/// "RoFormer", 2021, section 3.2). Pairs (i, i + d / 2) are those of Llama and GPT-NeoX, neighbours
/// those of the paper and GPT-J. Error: other shapes, an odd d, positions without `longest`; when
/// the step runs, a position outside 0..longest-1.
Tensor rotary(Tensor x, RotaryOptions options = {});

/// Biases for attention() that fall with the distance of key and query: [heads, tq, tk], minus
/// 2^(-8 (h + 1) / heads) times the distance, query i standing at key i + tk - tq (Press, Smith,
/// Lewis, "Train short, test long", ICLR 2022; its slopes for powers of two, used for all numbers
/// of heads). Error: a size below 1.
Tensor alibi_bias(const Scope& s, std::int64_t heads, std::int64_t tq, std::int64_t tk);

/// Options of rms_norm().
struct RmsNormOptions {
  double epsilon = 1e-6;  ///< added to the mean of squares
};
/// x over the root of the mean of its squares along the last axis, times the variable `scale` [c]
/// under `s`, at first 1 (Zhang & Sennrich, NeurIPS 2019). Computed in f32 for 16 bits. Error: x is
/// not floating, or has fewer than two axes; a negative epsilon.
Tensor rms_norm(const Scope& s, Tensor x, RmsNormOptions options = {});

/// Options of swiglu().
struct SwigluOptions {
  std::int64_t hidden;                                ///< units between the layers; required
  bool use_bias = false;                              ///< of the three dense layers
  Initializer kernel_initializer = glorot_uniform();  ///< as DenseOptions, for all three
};
/// The block of dense layers that Llama has: `down` of silu(`gate` x) times `up` x, for
/// silu(x) = x sigmoid(x): x [..., c] -> [..., c] (Shazeer, "GLU variants improve transformer",
/// 2020). Error: as dense().
Tensor swiglu(const Scope& s, Tensor x, SwigluOptions options);

}  // namespace belfry
