#pragma once
// What a plan leaves to reference kernels: scalar loops on one thread, which may take many times as
// long as all else.

#include <string>
#include <vector>

#include "belfry/framework/compiler/plan.h"

namespace belfry {

/// Bytes of the operands of the node that an instruction computes, or packs.
std::int64_t operand_bytes(const Instruction& instruction);

struct ReferenceUse {
  std::string what;  ///< op and type: "gather bf16"
  int kernels = 0;
  double bytes = 0;  ///< that they read and write
  double share = 0;  ///< of the bytes that all kernels of the plan read and write, from 0 to 1
};

/// What reference kernels compute in the plan, the largest share first.
std::vector<ReferenceUse> reference_use(const Plan& plan);

/// "3 kernels, 12.5 % of the bytes read and written: gather bf16 12.0 %, ..." with at most three
/// ops; empty when there are none.
std::string describe_reference_use(const Plan& plan);

/// Whether they have half a percent of these bytes, which may take a third of a step, and a MiB,
/// below which no step is slow.
bool references_are_noticeable(const Plan& plan);

}  // namespace belfry
