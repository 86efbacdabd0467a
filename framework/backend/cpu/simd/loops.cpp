#include "belfry/framework/backend/cpu/simd/loops.h"

namespace belfry::cpu::BELFRY_ISA {

const SimdLoops loops{.isa = BELFRY_ISA_NAME,
                      .convert = convert_loops,
                      .elementwise = elementwise_loops,
                      .columns = column_loops,
                      .batch_norm = batch_norm_loops,
                      .rows = row_loops,
                      .pools = pool_loops,
                      .updates = update_loops,
                      .slots = slot_loops,
                      .random = random_loops,
                      .ctc = ctc_loops,
                      .attention = attention_loops,
                      .recurrent = recurrent_loops,
                      .winograd = winograd_loops};

}  // namespace belfry::cpu::BELFRY_ISA
