#pragma once
// The loops that the files of this folder define, one table a file.

#include "belfry/framework/backend/cpu/simd/isa.h"
#include "belfry/framework/backend/cpu/simd_loops.h"

namespace belfry::cpu::BELFRY_ISA {

extern const ElementwiseLoops elementwise_loops;
extern const SimdLoops loops;

}  // namespace belfry::cpu::BELFRY_ISA
