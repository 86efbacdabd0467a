#pragma once
// Reductions that between them take every way through backend/cuda/kernels/reduction/reduce.h.

#include "../on_gpu.h"

namespace belfry {

struct ReductionCase {
  Shape shape;
  std::vector<int> axes;
};

const ReductionCase small_reductions[] = {
    {{7, 5, 37}, {2}},      {{7, 5, 37}, {0}}, {{7, 5, 37}, {1}}, {{7, 5, 37}, {0, 1}},
    {{7, 5, 37}, {1, 2}},   {{7, 5, 37}, {}},  {{6, 16}, {0}},    {{6, 16}, {1}},
    {{3, 4, 5, 6}, {0, 2}}, {{4, 1, 3}, {1}},  {{1, 1}, {0}},     {{9}, {0}}};

const ReductionCase large_reductions[] = {
    {{3, 20001}, {1}},         // rows shared by groups, most of them not aligned
    {{2, 1500}, {1}},          // a block to each row
    {{6000, 48}, {0}},         // columns shared by blocks, in packs
    {{6000, 3}, {0}},          // one by one
    {{2, 3000, 33}, {1}},      // several matrices
    {{8200, 3}, {1}},          // a thread to each result
    {{3, 60, 2, 70}, {1, 3}},  // a block to each result
};

const ReductionCase empty_reductions[] = {
    {{0, 3}, {0}}, {{3, 0}, {1}}, {{2, 0, 3}, {1}}, {{0}, {}}, {{3, 0}, {0}}};

/// The largest difference of a reduction on the GPU; `build` makes it from the input and options.
template <class Build>
double reduction_difference(const ReductionCase& c, const Array& x, Build build) {
  Graph graph;
  Tensor of = input(graph, "x", x.type());
  return difference_on_gpu({build(of, ReduceOptions{.axes = c.axes}),
                            build(of, ReduceOptions{.axes = c.axes, .keep_dims = true})},
                           {{"x", x}});
}

}  // namespace belfry
