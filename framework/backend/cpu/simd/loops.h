#pragma once
// The loops that the files of this folder define, one table a file.

#include "belfry/framework/backend/cpu/simd/isa.h"
#include "belfry/framework/backend/cpu/simd_loops.h"

namespace belfry::cpu::BELFRY_ISA {

extern const ForTypes<ConvertLoops> convert_loops;
extern const ElementwiseLoops elementwise_loops;
extern const ForTypes<ColumnLoops> column_loops;
extern const ForTypes<BatchNormLoops> batch_norm_loops;
extern const ForTypes<RowLoops> row_loops;
extern const ForTypes<PoolLoops> pool_loops;
extern const UpdateLoops update_loops;
extern const SlotLoops slot_loops;
extern const ForTypes<RandomLoops> random_loops;
extern const CtcLoops ctc_loops;
extern const AttentionLoops attention_loops;
extern const RecurrentLoops recurrent_loops[4];
extern const WinogradLoops winograd_loops;
extern const SimdLoops loops;

}  // namespace belfry::cpu::BELFRY_ISA
