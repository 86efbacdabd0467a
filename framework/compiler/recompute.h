#pragma once
// Recomputation: the backward pass has values again in place of keeping them.

#include "belfry/framework/compiler/plan.h"

namespace belfry {

/// Values of the forward pass that backward reads, and that can be had again, are dropped after
/// their last forward reader; the ops that make them run once more before the first other reader,
/// as nodes of Phase::recompute, and give the same bits (Chen et al., "Training deep nets with
/// sublinear memory cost", 2016). Random numbers are computed again, too: an op's are the same in a
/// step, however often it runs. Statistics of a batch, what comes from another slot or tower, and
/// the program's results are not. See RecomputeOptions for what is dropped. `done` says what was.
Program recompute(const Program& program, const RecomputeOptions& options, Recomputed& done);

}  // namespace belfry
