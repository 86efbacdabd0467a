#pragma once
// The steps of a fused node after oneDNN's primitive, on its result. They are no post-op of the
// primitive: its ReLU turns NaN into 0, which would hide a run that has diverged.

#include <cstdint>

#include "belfry/framework/backend/backend.h"

namespace belfry::cpu {

/// y = max(y, 0) for `count` elements of type f32 or bf16; NaN stays NaN.
void relu_in_place(void* y, DType dtype, std::int64_t count, int threads);

/// y [rows, columns] += bias [columns] if that is not null, then ReLU if asked.
void add_bias_in_place(float* y, const float* bias, bool relu, std::int64_t rows,
                       std::int64_t columns, int threads);

}  // namespace belfry::cpu
