#pragma once
// Pools that between them take every way through backend/cuda/kernels/pooling/pool.h.

#include "../on_gpu.h"
#include "belfry/framework/backend/backend.h"
#include "belfry/framework/ops/ops.h"

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
    {{2, 5, 4, 3}, {.window = {1, 3}, .stride = {2147483647, 1}}},
    {{0, 4, 4, 2}, {}}};

/// Pools whose places a GPU's `int`s do not hold.
const PoolCase huge_pools[] = {
    {{1, 2147483647, 1, 1}, {.window = {1, 1}, .stride = {1, 1}}},
    {{1, 4, 4, 1}, {.window = {1, 2147483647}, .padding = same_padding}},
    {{1, 4, 4, 1},
     {.window = {1200000000, 1}, .padding = Padding::explicit_amounts(1199999999, 0, 0, 0)}}};

inline bool has_kernel_on_gpu(const Node& node) {
  return find_device("cuda")->find_kernel(node, {}) != nullptr;
}

}  // namespace belfry
