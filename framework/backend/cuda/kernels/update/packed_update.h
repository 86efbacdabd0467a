#pragma once
// Updates whose slots are kept in fewer bits (ops/update/update_state.h). A thread takes four
// elements of a variable, which have one block of random numbers; 64 threads a block of eight bits.
// Internal to backend/cuda/kernels.

#include "belfry/framework/backend/cuda/kernels/update/update.h"

namespace belfry::cuda {

using SlotRounding = StateRounding<StdMath>;

constexpr int packed_each = update_each<float>;
constexpr int threads_of_state_block = state_block / packed_each;
constexpr int state_blocks_of_block = threads_of_update / threads_of_state_block;
static_assert(packed_each == 4);

// Where fewer than four elements are left, loops still run over all four and ask for each: their
// numbers are known when this is compiled, so that elements stay in registers.

/// Up to four elements, `count` of them, none if it is not above 0.
template <class T>
__device__ Pack<T, packed_each> load_some(const T* at, std::int64_t count) {
  if (count == packed_each) return load_pack<packed_each>(at);
  Pack<T, packed_each> pack{};
  for (int k = 0; k < packed_each; ++k)
    if (k < count) pack.values[k] = at[k];
  return pack;
}
template <class T>
__device__ void store_some(T* at, const Pack<T, packed_each>& pack, std::int64_t count) {
  if (count == packed_each) return store_pack(at, pack);
  for (int k = 0; k < packed_each; ++k)
    if (k < count) at[k] = pack.values[k];
}

/// Slots in bf16. Each thread has an object of such a type for one slot.
template <bool Signed>
struct Bf16Slot {
  BFloat16* at;
  std::int64_t count;

  __device__ Bf16Slot(void* slot, std::int64_t first, std::int64_t elements)
      : at(static_cast<BFloat16*>(slot) + first), count(elements) {}
  __device__ Pack<float, packed_each> load() const {
    auto packed = load_some(at, count);
    Pack<float, packed_each> x;
    for (int k = 0; k < packed_each; ++k) x.values[k] = to_compute(packed.values[k]);
    return x;
  }
  __device__ void store(const Pack<float, packed_each>& x, const std::uint32_t (&random)[4]) const {
    Pack<BFloat16, packed_each> packed;
    for (int k = 0; k < packed_each; ++k)
      packed.values[k].bits = SlotRounding::bf16(x.values[k], random[k]);
    store_some(at, packed, count);
  }
};

/// Slots in eight bits. All threads of a block of threads call store().
template <bool Signed>
struct EightBitSlot {
  std::uint8_t* block;  // of the slot
  std::int64_t offset;  // in it, of the first element
  std::int64_t count;

  __device__ EightBitSlot(void* slot, std::int64_t first, std::int64_t elements)
      : block(static_cast<std::uint8_t*>(slot) + first / state_block * state_block_bytes),
        offset(first % state_block),
        count(elements) {}
  __device__ float* scale() const { return reinterpret_cast<float*>(block); }
  __device__ std::uint8_t* codes() const { return block + sizeof(float) + offset; }

  __device__ Pack<float, packed_each> load() const {
    Pack<float, packed_each> x{};
    if (count <= 0) return x;
    auto packed = load_some(codes(), count);
    for (int k = 0; k < packed_each; ++k)
      x.values[k] = EightBits<StdMath, Signed>::decode(packed.values[k], *scale());
    return x;
  }
  __device__ void store(const Pack<float, packed_each>& x, const std::uint32_t (&random)[4]) const {
    __shared__ unsigned largest[state_blocks_of_block];
    unsigned part = threadIdx.x / threads_of_state_block;
    __syncthreads();  // the call before may still be read
    if (threadIdx.x < state_blocks_of_block) largest[threadIdx.x] = 0;
    __syncthreads();
    unsigned own = 0;
    for (int k = 0; k < packed_each; ++k)
      if (k < count) own = std::max<unsigned>(own, SlotRounding::magnitude_bits(x.values[k]));
    atomicMax(&largest[part], own);
    __syncthreads();
    if (count <= 0) return;
    float of_block = SlotRounding::scale(largest[part]);
    Pack<std::uint8_t, packed_each> packed{};
    for (int k = 0; k < packed_each; ++k)
      packed.values[k] = EightBits<StdMath, Signed>::encode(x.values[k], of_block, random[k]);
    store_some(codes(), packed, count);
    if (offset == 0) *scale() = of_block;
  }
};

template <template <bool> class Slot, class Rule>
__global__ void update_packed(Batch<2 + Rule::max_slots> batch, const Rule* rules,
                              const std::int64_t* random_state, const bool* condition) {
  if (!holds(condition)) return;
  constexpr int slots = Rule::max_slots;
  Chunk chunk = chunk_of<float>(batch);
  std::int64_t first = chunk.first, count = std::max<std::int64_t>(chunk.end - first, 0);
  auto& tensors = batch.tensors[chunk.group];
  Rule rule = rules[batch.rank[chunk.group]];
  auto* variable = static_cast<float*>(tensors[0]) + first;
  auto values = load_some(variable, count);
  auto gradient = load_some(static_cast<const float*>(tensors[1]) + first, count);

  Slot<Rule::is_signed(0)> slot0(tensors[2], first, count);
  Slot<Rule::is_signed(slots - 1)> last(tensors[1 + slots], first, count);
  Pack<float, packed_each> own[slots];
  own[0] = slot0.load();
  if constexpr (slots > 1) own[1] = last.load();
  for (int k = 0; k < packed_each; ++k) {
    float of_element[slots];
    for (int s = 0; s < slots; ++s) of_element[s] = own[s].values[k];
    rule.template apply<StdMath>(values.values[k], gradient.values[k], of_element);
    for (int s = 0; s < slots; ++s) own[s].values[k] = of_element[s];
  }
  store_some(variable, values, count);

  auto words =
      rounding_block(random_state, batch.first_group + chunk.group, first / packed_each).words();
  std::uint32_t random[4] = {words[0], words[1], words[2], words[3]};
  slot0.store(own[0], random);
  if constexpr (slots > 1) {
    for (std::uint32_t& word : random) word >>= 16;
    last.store(own[1], random);
  }
}

/// The kernel of a node whose layout is `random`.
template <template <class> class Rule>
std::unique_ptr<Kernel> make_packed(const Node& node, const UpdateLayout& layout) {
  using R = Rule<float>;
  static_assert(R::max_slots == 1 || R::max_slots == 2);
  const auto& options = node.as<typename R::Options>();
  auto groups = groups_of<R::max_slots>(node, layout);
  auto run = [=](const KernelArguments& a, Stream& stream) {
    auto* rules = a.scratch<R>();
    ScalarsOnGpu scalars = scalars_of(a, layout);
    launch_make_rules(options, scalars, rules, stream);
    const auto* random = static_cast<const std::int64_t*>(a.inputs[layout.random_state()]);
    for_each_batch<float>(groups, a, [&](const auto& batch) {
      auto kernel = state_of(options) == OptimizerState::bf16 ? update_packed<Bf16Slot, R>
                                                              : update_packed<EightBitSlot, R>;
      launch(stream, {.blocks = batch.blocks, .threads = threads_of_update}, kernel, batch, rules,
             random, scalars.condition);
    });
  };
  return make_kernel(run, Bytes(rule_count * sizeof(R)));
}

}  // namespace belfry::cuda
