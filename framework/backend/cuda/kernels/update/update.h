#pragma once
// The common parts of kernels of update rules. Internal to backend/cuda/kernels.

#include "belfry/framework/backend/cuda/kernels/multi_tensor.h"
#include "belfry/framework/ops/update/update_rule.h"

namespace belfry::cuda {

/// Where an update op's scalars are on the GPU; null for those that it does not take.
struct ScalarsOnGpu {
  const float* learning_rate;
  const std::int64_t* step;
  const bool* condition;
};

inline ScalarsOnGpu scalars_of(const KernelArguments& a, const UpdateLayout& layout) {
  auto input = [&](int i) { return a.inputs[i]; };
  return {static_cast<const float*>(input(0)),
          layout.scalars > 1 ? static_cast<const std::int64_t*>(input(1)) : nullptr,
          layout.condition ? static_cast<const bool*>(input(layout.condition_input())) : nullptr};
}

__device__ inline bool holds(const bool* condition) { return !condition || *condition; }

constexpr int rule_count = Shape::max_rank + 1;

/// The rule of this step for variables of each rank, worked out once for all of their elements.
template <class Rule>
__global__ void make_rules(typename Rule::Options options, ScalarsOnGpu scalars, Rule* rules) {
  UpdateScalars values{*scalars.learning_rate, scalars.step ? *scalars.step : 0};
  int rank = threadIdx.x;
  if (rank < rule_count) rules[rank] = Rule::template make<StdMath>(options, values, rank);
}

template <class Rule>
void launch_make_rules(const typename Rule::Options& options, const ScalarsOnGpu& scalars,
                       Rule* rules, Stream& stream) {
  launch(stream, {.blocks = 1, .threads = 32}, make_rules<Rule>, options, scalars, rules);
}

/// The groups of an update node: variable, gradient, slots.
template <int Slots>
std::vector<TensorGroup<2 + Slots>> groups_of(const Node& node, const UpdateLayout& layout) {
  std::vector<TensorGroup<2 + Slots>> groups;
  for (int g = 0; g < layout.groups(node.inputs().size()); ++g) {
    const Shape& shape = node.input(layout.variable(g)).shape();
    TensorGroup<2 + Slots> group{.inputs = {layout.variable(g), layout.gradient(g)},
                                 .elements = shape.elements(),
                                 .rank = shape.rank()};
    for (int k = 0; k < Slots; ++k) group.inputs[2 + k] = layout.slot(g, k);
    groups.push_back(group);
  }
  return groups;
}

/// A kernel for groups whose tensors may be of any floating types, mixed: a group has the type of
/// its first input, the variable. run(T(), groups, condition, arguments, stream) is called for each
/// type; `conditional`: input 0 of the node is the condition.
template <std::size_t N, class Run>
std::unique_ptr<Kernel> make_mixed_kernel(const Node& node,
                                          const std::vector<std::array<int, N>>& inputs,
                                          bool conditional, Run run) {
  auto of = [&](DType dtype) {
    std::vector<TensorGroup<static_cast<int>(N)>> groups;
    for (const auto& group : inputs)
      if (const TensorType& variable = node.input(group[0]).type(); variable.dtype == dtype)
        groups.push_back({.inputs = group,
                          .elements = variable.shape.elements(),
                          .rank = variable.shape.rank()});
    return groups;
  };
  return make_kernel([=, f64 = of(DType::f64), f32 = of(DType::f32), bf16 = of(DType::bf16),
                      f16 = of(DType::f16)](const KernelArguments& a, Stream& stream) {
    auto* condition = conditional ? a.input<bool>(0) : nullptr;
    run(double(), f64, condition, a, stream);
    run(float(), f32, condition, a, stream);
    run(BFloat16(), bf16, condition, a, stream);
    run(Float16(), f16, condition, a, stream);
  });
}

}  // namespace belfry::cuda
