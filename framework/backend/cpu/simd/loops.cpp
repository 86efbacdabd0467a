#include "belfry/framework/backend/cpu/simd/loops.h"

namespace belfry::cpu::BELFRY_ISA {

const SimdLoops loops{.isa = BELFRY_ISA_NAME, .elementwise = elementwise_loops};

}  // namespace belfry::cpu::BELFRY_ISA
