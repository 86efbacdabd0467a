#pragma once
// The work of a plan's instructions, and the time that it takes at least: the roofline model
// (Williams, Waterman and Patterson, "Roofline", CACM 52 (4), 2009).

#include "belfry/framework/compiler/plan.h"

namespace belfry {

struct Work {
  double bytes = 0;  ///< read and written
  double flops = 0;
};

/// Bytes that a node reads and writes: of a table the rows that it copies, and of a variable that
/// it updates, which may be by rows, as many elements as the gradient has. What a batch's sums are
/// made of is read once more for its elements.
double bytes_touched(const Node& node);

/// The work on the plan's own device: reductions over towers and transfers between devices have
/// none.
Work work_of(const Instruction& instruction);

/// Whether it is a matrix product, a convolution or one of its gradients.
bool is_product(const Instruction& instruction);

/// The longer of what its bytes and its operations take by the device's limits.
double least_seconds(const Instruction& instruction, const DeviceLimits& limits, bool tf32);

/// A step of a plan in sums.
struct Roofline {
  Work products;  ///< of matrix products and convolutions
  Work others;    ///< of all else, which moves memory more than it computes
  double product_seconds = 0, other_seconds = 0;  ///< at least; 0 where no limits are known
};
Roofline roofline_of(const Plan& plan);

}  // namespace belfry
