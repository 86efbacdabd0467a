#pragma once
// Random first values: those that a PhiloxStream would give one after the other, drawn several at a
// time and, from half a million elements on, by up to eight threads of their own.

#include "belfry/framework/tensor/array.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry {

/// Element i of `out` becomes shift + scale u, where u is draw i of
/// PhiloxStream(key).uniform_double() or, if `centred`, scale (2 u - 1).
struct UniformValues {
  double shift = 0, scale = 1;
  bool centred = false;
};
void fill(Array& out, PhiloxKey key, const UniformValues& values);

/// Elements of `out` become shift + scale z for the draws z of PhiloxStream(key).normal(), in their
/// order; if `truncated` without those beyond two deviations.
struct NormalValues {
  double shift = 0, scale = 1;
  bool truncated = false;
};
void fill(Array& out, PhiloxKey key, const NormalValues& values);

}  // namespace belfry
