#pragma once
// Reports say what a plan leaves to reference kernels. These are scalar loops on one thread, which
// may take many times as long as all else.

#include <string>
#include <vector>

#include "belfry/framework/compiler/plan.h"

namespace belfry {

struct ReferenceUse {
  std::string what;  ///< op and type: "prod bf16"
  int kernels = 0;
  double bytes = 0;  ///< that they read and write
  double flops = 0;
  double fraction = 0;  ///< of the bytes that all kernels of the plan read and write, from 0 to 1
};

/// Lists what reference kernels compute in the plan, the largest fraction first. Copies of rows of
/// tables and sums into them are left out, and what has whole numbers alone: there the reference is
/// no slower than other kernels would be.
std::vector<ReferenceUse> reference_use(const Plan& plan);

/// "3 kernels, 12.5 % of the bytes read and written: prod bf16 12.0 %, ..." with at most three
/// ops; empty when there are none.
std::string describe_reference_use(const Plan& plan);

/// Whether reference kernels read and write at least 0.5 % of these bytes, and a MiB. A
/// step of ResNet-18 left to them takes some 50 times as long, so 0.5 % may add a quarter of a
/// step; with less than a MiB no step is slow.
bool references_are_noticeable(const Plan& plan);

}  // namespace belfry
