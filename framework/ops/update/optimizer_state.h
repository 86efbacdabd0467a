#pragma once
// The ways in which optimizers may keep their slots. As update_functors.h, nvcc reads this file
// too.

#include <cstdint>
#include <string>

#include "belfry/framework/base/fields.h"

namespace belfry {

/// How an optimizer keeps its slots. Variables, gradients and all arithmetic stay f32.
enum class OptimizerState : std::uint8_t {
  /// In the variable's type. Exact.
  as_variable,
  /// 2 bytes in place of 4: 8 bits of precision and the whole range of f32.
  bf16,
  /// 1 byte and 1/64: blocks of 256 elements, each an f32 scale, the block's largest magnitude, and
  /// a byte for each element, its code in a map of values in [-1, 1] that are denser near 0
  /// (dynamic quantisation; Dettmers, Lewis, Shleifer and Zettlemoyer, "8-bit Optimizers via
  /// Block-wise Quantization", ICLR 2022, section 2). From a tenth of the scale up neighbours are
  /// 1.4 % of the scale apart, 0.7 % where nothing is negative; in each decade below, relative
  /// to their own size, they are twice as far apart as in the decade above. Slots of variables of
  /// fewer than 4096 elements stay
  /// as the variable, as in the paper: they are small, and biases and the scales of normalisations
  /// are the most sensitive.
  eight_bits,
};
/// The names of the values, in their order.
constexpr auto names_of(OptimizerState) { return name_list("as_variable", "bf16", "eight_bits"); }

/// Options of add_moving_averages().
struct MovingAverageUpdateOptions {
  double decay = 0.999;  ///< in [0, 1)
  bool warm_up = false;  ///< decay is at most (1 + n) / (10 + n) after n updates
  BELFRY_FIELDS(decay, warm_up)
};

}  // namespace belfry
