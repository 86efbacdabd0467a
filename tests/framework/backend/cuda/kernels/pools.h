#pragma once
// Pools that between them take every way through backend/cuda/kernels/pool.h.

#include "belfry/framework/ops/gradients.h"
#include "on_gpu.h"

namespace belfry {

struct PoolCase {
  Shape x;
  Pool2dOptions options;
};

const PoolCase pool_cases[] = {
    {{2, 6, 8, 16}, {}},                                           // packs
    {{2, 7, 5, 3}, {.padding = same_padding}},                     // none
    {{1, 9, 10, 8}, {.window = {3, 3}, .padding = same_padding}},  // windows overlap
    {{2, 9, 8, 5}, {.window = {1, 2}, .stride = {3, 4}}},          // and leave gaps
    {{1, 20, 19, 8}, {.window = {18, 17}, .stride = {1, 1}}},      // indices in i32
    {{3, 5, 6, 4},
     {.window = {4, 3}, .stride = {1, 2}, .padding = Padding::explicit_amounts(3, 1, 2, 0)}},
    {{0, 4, 4, 2}, {}}};

}  // namespace belfry
