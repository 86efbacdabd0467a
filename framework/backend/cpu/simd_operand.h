#pragma once
// How a tile-wise kernel reaches an operand that broadcasts to the shape of the output.

#include <cstdint>
#include <vector>

#include "belfry/framework/backend/cpu/simd_loops.h"
#include "belfry/framework/tensor/shape.h"

namespace belfry::cpu {

/// An operand of a type that load_floats() takes, seen as if it had the output's shape. Elements
/// become floats; booleans 0 or 1. Constant after construction.
class TileOperand {
 public:
  enum class Access : std::uint8_t {
    direct,   ///< has the output's elements, in order, as floats
    convert,  ///< has them in another type
    pattern,  ///< its elements repeat, over and over: a scalar, a row
    runs,     ///< anything else: pieces that repeat one element or lie in a row
  };

  TileOperand(const TensorType& operand, const Shape& out);

  Access access() const { return access_; }

  /// Floats that build_pattern() writes, so that pattern + at % period() is good for `tile` floats.
  std::int64_t pattern_size(std::int64_t tile) const;
  std::int64_t period() const { return period_; }
  void build_pattern(const SimdLoops& loops, const void* data, float* pattern,
                     std::int64_t tile) const;

  /// Writes elements [at, at + n) to `tile`; for direct, convert and runs.
  void load(const SimdLoops& loops, const void* data, std::int64_t at, std::int64_t n,
            float* tile) const;

 private:
  struct Axis {
    std::int64_t size, stride;
  };
  void load_runs(const SimdLoops& loops, const void* data, std::int64_t at, std::int64_t n,
                 float* tile) const;

  DType dtype_;
  Access access_;
  std::int64_t period_ = 0;
  std::vector<Axis> axes_;  // innermost first, merged; the innermost stride is 0 or 1
};

}  // namespace belfry::cpu
