#pragma once
// Random numbers inside a step: counter-based, keyed by seed, scope path, step and global row, so
// that they do not depend on the number of threads or towers.

#include <cstdint>

#include "belfry/framework/graph/scope.h"

namespace belfry {

/// Options of every random op.
struct RandomOptions {
  TensorType type = {};      ///< of the result; axis 0 is the batch's rows, unless it is a scalar
  std::uint64_t stream = 0;  ///< Scope::next_stream()
  double a = 0, b = 1;       ///< uniform: low, high; normal: mean, standard deviation
  static void fields(auto& o, auto&& field) {
    field("type", o.type);
    field("stream", o.stream);
    field("a", o.a);
    field("b", o.b);
  }
};

Tensor random_uniform(const Scope& s, const Shape& shape, double low = 0, double high = 1,
                      DType dtype = DType::f32);  ///< in [low, high)
Tensor random_normal(const Scope& s, const Shape& shape, double mean = 0,
                     double standard_deviation = 1, DType dtype = DType::f32);
/// Redrawn until within two standard deviations.
Tensor random_truncated_normal(const Scope& s, const Shape& shape, double mean = 0,
                               double standard_deviation = 1, DType dtype = DType::f32);

struct DropoutOptions {
  float rate = 0.5f;     ///< share of elements that become 0; the others are divided by 1 - rate
  bool training = true;  ///< false: the result is x
};
/// The mask is drawn again in the gradient; it takes no memory. Error: rate outside [0, 1).
Tensor dropout(const Scope& s, Tensor x, DropoutOptions options = {});

}  // namespace belfry
