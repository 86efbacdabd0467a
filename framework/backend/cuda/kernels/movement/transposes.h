#pragma once
// Many matrices transposed by one launch: see together.h. Internal to backend/cuda.

#include <cstdint>
#include <memory>

#include "belfry/framework/backend/backend.h"

namespace belfry::cuda {

/// A kernel that writes the transpose of input 0 [rows, columns] of `from` to output 0 as `to`.
/// The types are the same, or f32 and one of 16 bits. Null for others.
std::shared_ptr<Kernel> make_transpose(std::int64_t rows, std::int64_t columns, DType from,
                                       DType to);

}  // namespace belfry::cuda
