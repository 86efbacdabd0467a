#pragma once
// Random numbers inside a step: counter-based, keyed by seed, scope path, step and global row, so
// that they do not depend on the number of threads or towers.
//
// Element e of row r (its place in the row, in row-major order; r counts along axis 0) has word
// e % 4 of the four that
//
//   philox(philox_key(seed, stream), low, high)          framework/tensor/philox.h
//     low  = (first_row + r) << 32 | e / 4               for a scalar first_row + r counts as 0
//     high = attempt << 48 | step                        attempt is 0 but for redrawn numbers
//
// gives, where random_state holds seed, step (0 in predictions) and first_row (the seed of a later
// sub-step of a round is another). So rows, and blocks of four elements
// in a row, count to 2^32 and steps to 2^48. From the words w0..w3:
//
//   uniform  u = (w >> 8) / 2^24, the result low + (high - low) u, rounded to its type; where that
//            rounds up to `high`, the next number below
//   normal   elements 0 and 1: r cos(a) and r sin(a) with r = sqrt(-2 log((w0 + 1) / 2^32)) and
//            a = 2 pi w1 / 2^32; elements 2 and 3 likewise from w2 and w3
//   truncated normal: the same; while outside two standard deviations, that of the next attempt
//   dropout  an element is kept where u >= rate

#include <cstdint>

#include "belfry/framework/graph/scope.h"

namespace belfry {

/// Options of every random op.
struct RandomOptions {
  TensorType type = {};      ///< of the result; axis 0 is the batch's rows, unless it is a scalar
  std::uint64_t stream = 0;  ///< Scope::next_stream()
  /// Uniform: low; normal: mean.
  double a = 0, b = 1;  ///< uniform: high; normal: standard deviation
  BELFRY_FIELDS(type, stream, a, b)
};

Tensor random_uniform(const Scope& s, const Shape& shape, double low = 0, double high = 1,
                      DType dtype = DType::f32);  ///< in [low, high)
/// Normal numbers. Error: the standard deviation is negative.
Tensor random_normal(const Scope& s, const Shape& shape, double mean = 0,
                     double standard_deviation = 1, DType dtype = DType::f32);
/// Redrawn until within two standard deviations.
Tensor random_truncated_normal(const Scope& s, const Shape& shape, double mean = 0,
                               double standard_deviation = 1, DType dtype = DType::f32);

/// Options of dropout().
struct DropoutOptions {
  float rate = 0.5f;     ///< fraction of elements that become 0; the others are divided by 1 - rate
  bool training = true;  ///< false: the result is x
};
/// The mask is drawn again in the gradient; it takes no memory. Error: rate outside [0, 1).
Tensor dropout(const Scope& s, Tensor x, DropoutOptions options = {});

}  // namespace belfry
