// lamb_update: moments and the squares that norms are made of, then the norms, then the step.

#include "belfry/framework/backend/cuda/kernels/reduction/block_reduce.h"
#include "belfry/framework/backend/cuda/kernels/update/update.h"

namespace belfry::cuda {
namespace {

/// variable, gradient, m, v
using LambBatch = Batch<4>;

template <class T>
__device__ T* tensor(const LambBatch& batch, const Chunk& chunk, int n) {
  return static_cast<T*>(batch.tensors[chunk.group][n]);
}

/// `squares`: a block's sums, of the variable and of the direction.
template <class T, class Rule>
__global__ void lamb_moments(LambBatch batch, const Rule* rules, const bool* condition,
                             Pair<double>* squares) {
  using C = compute_type<T>;
  if (!holds(condition)) return;
  Chunk chunk = chunk_of<T>(batch);
  Rule rule = rules[batch.rank[chunk.group]];
  Pair<C> sums{};
  for_each_pack<T>(chunk, [&](auto n, std::int64_t i) {
    constexpr int N = decltype(n)::value;
    auto variable = load_pack<N>(tensor<const T>(batch, chunk, 0) + i);
    auto gradient = load_pack<N>(tensor<const T>(batch, chunk, 1) + i);
    auto m = load_pack<N>(tensor<const T>(batch, chunk, 2) + i);
    auto v = load_pack<N>(tensor<const T>(batch, chunk, 3) + i);
    for (int k = 0; k < N; ++k) {
      C x = to_compute(variable.values[k]);
      C m_k = to_compute(m.values[k]), v_k = to_compute(v.values[k]);
      rule.moments(to_compute(gradient.values[k]), m_k, v_k);
      m.values[k] = from_compute<T>(m_k);
      v.values[k] = from_compute<T>(v_k);
      C d = rule.template direction<StdMath>(x, to_compute(m.values[k]), to_compute(v.values[k]));
      sums = sums + Pair<C>{x * x, d * d};
    }
    store_pack(tensor<T>(batch, chunk, 2) + i, m);
    store_pack(tensor<T>(batch, chunk, 3) + i, v);
  });
  sums = reduce_block<Sum>(sums);
  if (threadIdx.x == 0)
    squares[blockIdx.x] = {static_cast<double>(sums.a), static_cast<double>(sums.b)};
}

/// A block for each group: the factor of its step.
template <class T, class Rule>
__global__ void lamb_steps(LambBatch batch, const Rule* rules, const Pair<double>* squares,
                           compute_type<T>* steps) {
  int group = blockIdx.x;
  unsigned end = group + 1 < batch.groups ? batch.first_block[group + 1] : batch.blocks;
  Pair<double> sums{};
  for (unsigned block = batch.first_block[group] + threadIdx.x; block < end; block += blockDim.x)
    sums = sums + squares[block];
  sums = reduce_block<Sum>(sums);
  if (threadIdx.x == 0)
    steps[group] = rules[batch.rank[group]].step(std::sqrt(sums.a), std::sqrt(sums.b));
}

template <class T, class Rule>
__global__ void lamb_apply(LambBatch batch, const Rule* rules, const bool* condition,
                           const compute_type<T>* steps) {
  using C = compute_type<T>;
  if (!holds(condition)) return;
  Chunk chunk = chunk_of<T>(batch);
  Rule rule = rules[batch.rank[chunk.group]];
  C step = steps[chunk.group];
  for_each_pack<T>(chunk, [&](auto n, std::int64_t i) {
    constexpr int N = decltype(n)::value;
    auto variable = load_pack<N>(tensor<const T>(batch, chunk, 0) + i);
    auto m = load_pack<N>(tensor<const T>(batch, chunk, 2) + i);
    auto v = load_pack<N>(tensor<const T>(batch, chunk, 3) + i);
    for (int k = 0; k < N; ++k) {
      C x = to_compute(variable.values[k]);
      C d = rule.template direction<StdMath>(x, to_compute(m.values[k]), to_compute(v.values[k]));
      variable.values[k] = from_compute<T>(x - step * d);
    }
    store_pack(tensor<T>(batch, chunk, 0) + i, variable);
  });
}

/// The blocks of the largest batch: one after the other they use the same memory.
template <class T>
std::int64_t most_blocks(const std::vector<TensorGroup<4>>& groups) {
  std::int64_t most = 0, blocks = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (g % LambBatch::most == 0) blocks = 0;
    blocks += (groups[g].elements + update_block<T> - 1) / update_block<T>;
    most = std::max(most, blocks);
  }
  return most;
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  const auto& options = node.as<LambUpdateOptions>();
  UpdateLayout layout = update_layout<update::Lamb>(options, node.inputs().size());
  return dispatch_floating(node.inputs().back().dtype(), node.op().name, [&](auto t) {
    using T = decltype(t);
    using C = compute_type<T>;
    using Rule = update::Lamb<C>;
    struct Workspace {
      Rule rules[rule_count];
      C steps[LambBatch::most];
      alignas(16) Pair<double> squares[1];  // as many as blocks
    };
    auto groups = groups_of<2>(node, layout);
    auto run = [=](const KernelArguments& a, Stream& stream) {
      auto& w = *a.scratch<Workspace>();
      ScalarsOnGpu scalars = scalars_of(a, layout);
      launch_make_rules<Rule>(options, scalars, w.rules, stream);
      for_each_batch<T>(groups, a, [&](const LambBatch& batch) {
        LaunchShape all{.blocks = batch.blocks, .threads = block_threads};
        launch(stream, all, lamb_moments<T, Rule>, batch, w.rules, scalars.condition, w.squares);
        launch(stream, {.blocks = batch.groups, .threads = block_threads}, lamb_steps<T, Rule>,
               batch, w.rules, w.squares, w.steps);
        launch(stream, all, lamb_apply<T, Rule>, batch, w.rules, scalars.condition, w.steps);
      });
    };
    auto squares = static_cast<std::size_t>(most_blocks<T>(groups)) * sizeof(Pair<double>);
    return make_kernel(run, Bytes(static_cast<std::int64_t>(sizeof(Workspace) + squares)));
  });
}

const KernelRegistration registration(lamb_update_op, make);

}  // namespace
}  // namespace belfry::cuda
