// The gradient of attention: a block to each query for its own gradient, then a block to each key
// for that of key and value. Both make the scores again.

#include "belfry/framework/backend/cuda/kernels/attention/attention.h"

namespace belfry::cuda {
namespace {

template <class T>
struct Operands : AttentionInputs<T> {
  const T *y, *dy;
  const compute_type<T>* log_sums;
  compute_type<T>* shifts;  ///< [n, heads, tq]: the sum of dy y, which each score's gradient has
};

/// A warp to each query.
template <class T>
__global__ void find_shifts(Operands<T> o) {
  const AttentionSizes& s = o.sizes;
  std::int64_t number = group_number<warp_threads>();
  if (number >= s.n * s.heads * s.tq) return;
  std::int64_t query = number % s.tq, head = number / s.tq % s.heads, row = number / s.tq / s.heads,
               at = s.query_at(row, query, head, s.e);
  auto shift = warp_product(o.y + at, o.dy + at, s.e);
  if (number_in_group<warp_threads>() == 0) o.shifts[number] = shift;
}

/// Weight and gradient of the score of a query and a key; for all threads of a warp.
template <class C>
struct Slope {
  C weight = 0, slope = 0;  ///< the weight as it goes into y; the slope without scale
};
template <class T>
__device__ Slope<compute_type<T>> slope_of(const Operands<T>& o, std::int64_t row,
                                           std::int64_t head, std::int64_t query,
                                           std::int64_t key) {
  using C = compute_type<T>;
  const AttentionSizes& s = o.sizes;
  std::int64_t kv_head = s.kv_head(head), number = (row * s.heads + head) * s.tq + query;
  C score = o.scale
            * warp_product(o.q + s.query_at(row, query, head, s.d),
                           o.k + s.key_at(row, key, kv_head, s.d), s.d);
  C product = warp_product(o.dy + s.query_at(row, query, head, s.e),
                           o.v + s.key_at(row, key, kv_head, s.e), s.e);
  C log_sum = o.log_sums[number];
  if (log_sum == Highest::first<C>() || !s.counts(row, head, query, key)) return {};
  C weight = std::exp(score - log_sum), kept = o.kept(row, head, query, key);
  return {weight * kept, weight * (kept * product - o.shifts[number])};
}

template <class T>
__global__ void differentiate_queries(Operands<T> o, T* dq) {
  using C = compute_type<T>;
  const AttentionSizes& s = o.sizes;
  std::int64_t block = blockIdx.x, query = block % s.tq, head = block / s.tq % s.heads,
               row = block / s.tq / s.heads;
  AttentionSizes::Keys keys = s.keys(row, query);
  __shared__ C slopes[attention_threads];
  C sums[elements_of_thread] = {};
  __syncthreads();  // blocks are alike for an emulation, also one for whose query no key counts
  for (std::int64_t first = keys.first; first < keys.end; first += attention_threads) {
    int count = static_cast<int>(keys.end - first < attention_threads ? keys.end - first
                                                                      : attention_threads);
    __syncthreads();  // the tile before has been read
    for (int i = static_cast<int>(threadIdx.x) / warp_threads; i < count;
         i += attention_threads / warp_threads) {
      Slope<C> slope = slope_of(o, row, head, query, first + i);
      if (threadIdx.x % warp_threads == 0) slopes[i] = slope.slope;
    }
    __syncthreads();
    for (int e = 0; e < elements_of_thread; ++e) {
      std::int64_t j = threadIdx.x + e * attention_threads;
      for (int i = 0; i < count && j < s.d; ++i)
        sums[e] += slopes[i] * load(o.k + s.key_at(row, first + i, s.kv_head(head), s.d) + j);
    }
  }
  for (int e = 0; e < elements_of_thread; ++e) {
    std::int64_t j = threadIdx.x + e * attention_threads;
    if (j < s.d) store(dq + s.query_at(row, query, head, s.d) + j, o.scale * sums[e]);
  }
}

template <class T>
__global__ void differentiate_keys(Operands<T> o, T* dk, T* dv) {
  using C = compute_type<T>;
  const AttentionSizes& s = o.sizes;
  std::int64_t block = blockIdx.x, kv_head = block % s.kv_heads, key = block / s.kv_heads % s.tk,
               row = block / s.kv_heads / s.tk, group = s.heads / s.kv_heads;
  __shared__ C weights[attention_threads], slopes[attention_threads];
  C of_key[elements_of_thread] = {}, of_value[elements_of_thread] = {};
  for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head)
    for (std::int64_t first = 0; first < s.tq; first += attention_threads) {
      int count =
          static_cast<int>(s.tq - first < attention_threads ? s.tq - first : attention_threads);
      __syncthreads();  // the tile before has been read
      for (int i = static_cast<int>(threadIdx.x) / warp_threads; i < count;
           i += attention_threads / warp_threads) {
        AttentionSizes::Keys keys = s.keys(row, first + i);
        Slope<C> slope;
        if (key >= keys.first && key < keys.end) slope = slope_of(o, row, head, first + i, key);
        if (threadIdx.x % warp_threads != 0) continue;
        weights[i] = slope.weight;
        slopes[i] = slope.slope;
      }
      __syncthreads();
      for (int e = 0; e < elements_of_thread; ++e) {
        std::int64_t j = threadIdx.x + e * attention_threads;
        for (int i = 0; i < count; ++i) {
          if (j < s.d)
            of_key[e] += slopes[i] * load(o.q + s.query_at(row, first + i, head, s.d) + j);
          if (j < s.e)
            of_value[e] += weights[i] * load(o.dy + s.query_at(row, first + i, head, s.e) + j);
        }
      }
    }
  for (int e = 0; e < elements_of_thread; ++e) {
    std::int64_t j = threadIdx.x + e * attention_threads;
    if (j < s.d) store(dk + s.key_at(row, key, kv_head, s.d) + j, o.scale * of_key[e]);
    if (j < s.e) store(dv + s.key_at(row, key, kv_head, s.e) + j, of_value[e]);
  }
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  auto o = node.as<DotProductAttentionNodeOptions>();
  AttentionIndices at(o, 6);
  AttentionSizes sizes(node.input(0).shape(), node.input(2).shape(), o);
  if (!has_attention(sizes)) return nullptr;
  Shape mask = at.mask > 0 ? node.input(at.mask).shape() : Shape();
  std::int64_t queries = sizes.n * sizes.heads * sizes.tq;
  return dispatch_floating(node.output().dtype, node.op().name, [&](auto t) {
    using T = decltype(t);
    using C = compute_type<T>;
    auto run = [=](const KernelArguments& a, Stream& stream) {
      Operands<T> operands{attention_inputs<T>(a, o, sizes, at, mask), a.input<T>(3), a.input<T>(5),
                           a.input<C>(4), a.scratch<C>()};
      launch(stream, threads_for(queries * warp_threads), find_shifts<T>, operands);
      launch(stream, {queries, attention_threads}, differentiate_queries<T>, operands,
             a.output<T>(0));
      launch(stream, {sizes.n * sizes.tk * sizes.kv_heads, attention_threads},
             differentiate_keys<T>, operands, a.output<T>(1), a.output<T>(2));
    };
    return make_kernel(run, Bytes(queries * std::int64_t{sizeof(C)}));
  });
}

const KernelRegistration registration(dot_product_attention_grad_op, make);

}  // namespace
}  // namespace belfry::cuda
