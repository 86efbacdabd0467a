// Update rules whose formulas are elementwise: a few launches for all variables of an update.

#include <utility>

#include "belfry/framework/backend/cuda/kernels/update/packed_update.h"

namespace belfry::cuda {
namespace {

/// A rule as it is, with its slots.
template <class Rule>
struct AsItIs {
  static constexpr int slots = Rule::max_slots;
  __device__ static Rule of(Rule rule) { return rule; }
};

/// update::Rmsprop with its slots known to the compiler, 0 for none: they stay in registers.
template <int Velocity, int MeanGradient>
struct WithSlots {
  template <class Rule>
  struct Of {
    static constexpr int slots = 1 + (Velocity > 0) + (MeanGradient > 0);
    __device__ static Rule of(Rule rule) {
      rule.velocity = Velocity;
      rule.mean_gradient = MeanGradient;
      return rule;
    }
  };
};

/// Calls f(0), ..., f(N - 1). nvcc leaves a loop over a formula as long as Ftrl's a loop, and
/// arrays that it indexes in local memory.
template <class F, int... K>
__device__ void unrolled(F f, std::integer_sequence<int, K...>) {
  (f(K), ...);
}
template <int N, class F>
__device__ void unrolled(F f) {
  unrolled(f, std::make_integer_sequence<int, N>());
}

/// Whether the row of element i has no gradient. Each of its elements asks; most rows that have one
/// say so at once.
template <class T>
__device__ bool is_in_idle_row(const void* gradient, std::int64_t i, unsigned row) {
  const T* begin = static_cast<const T*>(gradient) + i / row * row;
  for (unsigned k = 0; k < row; ++k)
    if (to_compute(begin[k]) != 0) return false;
  return true;
}

/// Where `row` is not 0, rows of so many elements wait for a gradient.
template <int N, int Tensors, class T, class Rule>
__device__ void update_pack(const Rule& rule, void* const (&tensors)[Tensors], std::int64_t i,
                            unsigned row) {
  using C = compute_type<T>;
  constexpr int slots = Tensors - 2;
  Pack<T, N> packs[Tensors];
  for (int n = 0; n < Tensors; ++n) packs[n] = load_pack<N>(static_cast<const T*>(tensors[n]) + i);
  unrolled<N>([&](int k) {
    if (row > 0 && is_in_idle_row<T>(tensors[1], i + k, row)) return;
    C value = to_compute(packs[0].values[k]), own[slots + 1];
    for (int s = 0; s < slots; ++s) own[s] = to_compute(packs[2 + s].values[k]);
    rule.template apply<StdMath>(value, to_compute(packs[1].values[k]), own);
    packs[0].values[k] = from_compute<T>(value);
    for (int s = 0; s < slots; ++s) packs[2 + s].values[k] = from_compute<T>(own[s]);
  });
  for (int n = 0; n < Tensors; ++n)
    if (n != 1) store_pack(static_cast<T*>(tensors[n]) + i, packs[n]);
}

template <class T, class Rule, class Form>
__global__ void update_all(Batch<2 + Form::slots> batch, const Rule* rules, const bool* condition) {
  if (!holds(condition)) return;
  Chunk chunk = chunk_of<T>(batch);
  Rule rule = Form::of(rules[batch.rank[chunk.group]]);
  for_each_pack<T>(chunk, [&](auto n, std::int64_t i) {
    update_pack<decltype(n)::value, 2 + Form::slots, T>(rule, batch.tensors[chunk.group], i,
                                                        batch.row[chunk.group]);
  });
}

unsigned row_of(const Shape& shape) {
  return static_cast<unsigned>(shape.elements() / std::max<std::int64_t>(shape[0], 1));
}

template <template <class> class Rule, template <class> class Form>
std::unique_ptr<Kernel> kernel(const Node& node) {
  const auto& options = node.as<typename Rule<float>::Options>();
  UpdateLayout layout = update_layout<Rule>(options, node.inputs().size());
  if constexpr (requires { options.state; })
    if (layout.random) return make_packed<Rule>(node, layout);
  return dispatch_floating(node.input(layout.variable(0)).dtype(), node.op().name, [&](auto t) {
    using T = decltype(t);
    using R = Rule<compute_type<T>>;
    auto groups = groups_of<Form<R>::slots>(node, layout);
    for (auto& group : groups)
      if (is_lazy(options, group.rank)) group.row = row_of(node.input(group.inputs[0]).shape());
    auto run = [=](const KernelArguments& a, Stream& stream) {
      auto* rules = a.scratch<R>();
      ScalarsOnGpu scalars = scalars_of(a, layout);
      launch_make_rules(options, scalars, rules, stream);
      for_each_batch<T>(groups, a, [&](const auto& batch) {
        launch(stream, {.blocks = batch.blocks, .threads = threads_of_update},
               update_all<T, R, Form<R>>, batch, rules, scalars.condition);
      });
    };
    return make_kernel(run, Bytes(rule_count * sizeof(R)));
  });
}

template <template <class> class Rule>
std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  return kernel<Rule, AsItIs>(node);
}

std::unique_ptr<Kernel> make_rmsprop(const Node& node, const Gpu&, const KernelOptions&) {
  const auto& o = node.as<RmspropUpdateOptions>();
  if (o.momentum != 0)
    return o.centered ? kernel<update::Rmsprop, WithSlots<1, 2>::Of>(node)
                      : kernel<update::Rmsprop, WithSlots<1, 0>::Of>(node);
  return o.centered ? kernel<update::Rmsprop, WithSlots<0, 1>::Of>(node)
                    : kernel<update::Rmsprop, WithSlots<0, 0>::Of>(node);
}

const KernelRegistration registrations[] = {
    {sgd_update_op, make<update::Sgd>},         {momentum_update_op, make<update::Momentum>},
    {adam_update_op, make<update::Adam>},       {rmsprop_update_op, make_rmsprop},
    {adagrad_update_op, make<update::Adagrad>}, {ftrl_update_op, make<update::Ftrl>}};

}  // namespace
}  // namespace belfry::cuda
