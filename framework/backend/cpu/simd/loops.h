#pragma once
// The loops that the files of this folder define, one table a file.

#include "belfry/framework/backend/cpu/simd/isa.h"
#include "belfry/framework/backend/cpu/simd_loops.h"

namespace belfry::cpu::BELFRY_ISA {

extern const ElementwiseLoops elementwise_loops;
extern const ColumnLoops column_loops;
extern const BatchNormLoops batch_norm_loops;
extern const RowLoops row_loops;
extern const PoolLoops pool_loops;
extern const UpdateLoops update_loops;
extern const RandomLoops random_loops;
extern const WinogradLoops winograd_loops;
extern const SimdLoops loops;

}  // namespace belfry::cpu::BELFRY_ISA
