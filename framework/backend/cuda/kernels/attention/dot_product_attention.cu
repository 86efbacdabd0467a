// Attention: a block to each query, which goes over the keys that count for it in tiles.

#include "belfry/framework/backend/cuda/kernels/attention/attention.h"

namespace belfry::cuda {
namespace {

__global__ void check_lengths(AttentionSizes s, FaultSite site) {
  std::int64_t row = thread_number();
  if (row < s.n && (s.lengths[row] < 0 || s.lengths[row] > s.tk)) report(site, row);
}

template <class T>
__global__ void attend(AttentionInputs<T> in, T* y, compute_type<T>* log_sums) {
  using C = compute_type<T>;
  const AttentionSizes& s = in.sizes;
  std::int64_t block = blockIdx.x, query = block % s.tq, head = block / s.tq % s.heads,
               row = block / s.tq / s.heads, kv_head = s.kv_head(head);
  const T* q = in.q + s.query_at(row, query, head, s.d);
  AttentionSizes::Keys keys = s.keys(row, query);
  __shared__ C weights[attention_threads];
  C highest = Highest::first<C>(), sum = 0, sums[elements_of_thread] = {};
  __syncthreads();  // blocks are alike for an emulation, also one for whose query no key counts
  for (std::int64_t first = keys.first; first < keys.end; first += attention_threads) {
    int count = static_cast<int>(keys.end - first < attention_threads ? keys.end - first
                                                                      : attention_threads);
    for (int i = static_cast<int>(threadIdx.x) / warp_threads; i < count;
         i += attention_threads / warp_threads) {
      C product = warp_product(q, in.k + s.key_at(row, first + i, kv_head, s.d), s.d);
      if (threadIdx.x % warp_threads == 0)
        weights[i] =
            s.counts(row, head, query, first + i) ? in.scale * product : Highest::first<C>();
    }
    __syncthreads();
    int mine = static_cast<int>(threadIdx.x);
    C score = mine < count ? weights[mine] : Highest::first<C>();
    C now = Highest::add(highest, fold_block<Highest>(score));
    bool none = now == Highest::first<C>();
    C correction = none ? C(1) : C(std::exp(highest - now)),
      weight = none ? C(0) : C(std::exp(score - now));
    highest = now;
    sum = sum * correction + fold_block<Sum>(weight);
    if (mine < count) weights[mine] = weight * in.kept(row, head, query, first + mine);
    __syncthreads();
    for (int e = 0; e < elements_of_thread; ++e) {
      std::int64_t j = mine + e * attention_threads;
      if (j >= s.e) break;
      sums[e] *= correction;
      for (int i = 0; i < count; ++i)
        sums[e] += weights[i] * load(in.v + s.key_at(row, first + i, kv_head, s.e) + j);
    }
    __syncthreads();
  }
  bool none = highest == Highest::first<C>();
  for (int e = 0; e < elements_of_thread; ++e) {
    std::int64_t j = threadIdx.x + e * attention_threads;
    if (j < s.e) store(y + s.query_at(row, query, head, s.e) + j, none ? C(0) : sums[e] / sum);
  }
  if (threadIdx.x == 0)
    log_sums[(row * s.heads + head) * s.tq + query] = none ? highest : highest + std::log(sum);
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu& gpu, const KernelOptions&) {
  auto o = node.as<DotProductAttentionNodeOptions>();
  AttentionIndices at(o, 3);
  AttentionSizes sizes(node.input(0).shape(), node.input(2).shape(), o);
  if (!has_attention(sizes)) return nullptr;
  Shape mask = at.mask > 0 ? node.input(at.mask).shape() : Shape();
  auto fault = gpu.faults.add("dot_product_attention: the length at row ",
                              concat(" is outside 0..", sizes.tk));
  return dispatch_floating(node.output().dtype, node.op().name, [&](auto t) {
    using T = decltype(t);
    return make_kernel([=](const KernelArguments& a, Stream& stream) {
      AttentionInputs<T> in = attention_inputs<T>(a, o, sizes, at, mask);
      if (in.sizes.lengths)
        launch(stream, threads_for(sizes.n), check_lengths, in.sizes, fault->site(a));
      launch(stream, {sizes.n * sizes.heads * sizes.tq, attention_threads}, attend<T>, in,
             a.output<T>(0), a.output<compute_type<T>>(1));
    });
  });
}

const KernelRegistration registration(dot_product_attention_op, make);

}  // namespace
}  // namespace belfry::cuda
