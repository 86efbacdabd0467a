// gather_grad without atomics, whose order would differ from run to run: positions are sorted by
// index, and the rows of dy that belong to one row of dx are added up in that order. They are so in
// chunks of a fixed size, so that an index that occurs very often, such as that of padding, is
// shared by many threads.

#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/kernels/elements.h"
#include "belfry/framework/ops/defs.h"

namespace belfry::cuda {
namespace {

/// An index above the position at which it stands: all keys differ.
using Key = std::uint64_t;
__device__ inline std::int64_t row_of(Key key) { return static_cast<std::int64_t>(key >> 32); }
__device__ inline std::int64_t position_of(Key key) {
  return static_cast<std::int64_t>(key & 0xffffffff);
}

constexpr int tile_size = 512;           // keys that a block sorts
constexpr std::int64_t chunk_size = 32;  // positions that a thread adds up

/// Indices outside 0 .. size - 1 are reported and become `size`: they are sorted to the end.
template <class Index>
__global__ void sort_tiles(const Index* indices, Key* keys, std::int64_t count, std::int64_t size,
                           FaultSite site) {
  __shared__ Key tile[tile_size];
  std::int64_t i = thread_number();
  Key key = ~Key(0);
  if (i < count) {
    std::int64_t index = indices[i];
    if (index < 0 || index >= size) {
      report(site, i);
      index = size;
    }
    key = static_cast<Key>(index) << 32 | static_cast<Key>(i);
  }
  tile[threadIdx.x] = key;
  __syncthreads();
  int lower = 0;
  for (int k = 0; k < tile_size; ++k) lower += tile[k] < key;
  if (i < count) keys[i - threadIdx.x + lower] = key;
}

/// The first of keys[begin .. end - 1] that is not below `key`, or `end`.
__device__ inline std::int64_t lower_bound(const Key* keys, std::int64_t begin, std::int64_t end,
                                           Key key) {
  while (begin < end) {
    std::int64_t middle = (begin + end) / 2;
    if (keys[middle] < key)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

/// Merges each two neighbouring sorted runs of `width` keys.
__global__ void merge_runs(const Key* from, Key* to, std::int64_t count, std::int64_t width) {
  std::int64_t i = thread_number();
  if (i >= count) return;
  std::int64_t run = i / width, other = run ^ 1;
  std::int64_t begin = std::min(other * width, count), end = std::min(begin + width, count);
  std::int64_t lower = lower_bound(from, begin, end, from[i]) - begin;
  to[std::min(run, other) * width + (i - run * width) + lower] = from[i];
}

template <class T>
__global__ void fill_with_zeros(T* y, std::int64_t count) {
  std::int64_t first = thread_number() * pack_size<T>;
  if (first + pack_size<T> <= count) {
    store_pack(y + first, Pack<T, pack_size<T>>{});
  } else {
    for (std::int64_t i = first; i < count; ++i) y[i] = T{};
  }
}

/// dy [outer, count, inner], dx [outer, size, inner].
struct Sizes {
  std::int64_t outer, count, size, inner;
  BELFRY_HOST_DEVICE std::int64_t chunks() const { return (count + chunk_size - 1) / chunk_size; }
};

/// N neighbours along `inner` of one chunk: what a thread adds up.
struct Part {
  std::int64_t outer, chunk, inner, begin, end;  // begin, end: sorted positions
};

template <int N>
__device__ Part part_of(std::int64_t number, const Sizes& s) {
  std::int64_t packs = s.inner / N, row = number / packs, outer = row / s.chunks();
  std::int64_t chunk = row - outer * s.chunks(), begin = chunk * chunk_size;
  return {outer, chunk, (number - row * packs) * N, begin, std::min(begin + chunk_size, s.count)};
}

/// The sums of rows of dx whose positions lie in several chunks: of a chunk's first row (0) and of
/// its last (1).
template <class C, int N>
__device__ Pack<C, N>& partial_sum(C* partial, const Sizes& s, const Part& p, std::int64_t chunk,
                                   int which) {
  return *reinterpret_cast<Pack<C, N>*>(
      partial + ((chunk * 2 + which) * s.outer + p.outer) * s.inner + p.inner);
}

template <class T, int N>
__device__ void store_row(T* dx, const Sizes& s, const Part& p, std::int64_t row,
                          const Pack<compute_type<T>, N>& sum) {
  Pack<T, N> pack;
  for (int k = 0; k < N; ++k) pack.values[k] = from_compute<T>(sum.values[k]);
  store_pack<N>(dx + (p.outer * s.size + row) * s.inner + p.inner, pack);
}

template <class T, int N>
__global__ void add_chunks(const Key* keys, const T* dy, T* dx, compute_type<T>* partial,
                           Sizes sizes, std::int64_t threads) {
  using C = compute_type<T>;
  constexpr int ahead = 8;  // loads that are under way together
  std::int64_t number = thread_number();
  if (number >= threads) return;
  Part p = part_of<N>(number, sizes);
  std::int64_t row = row_of(keys[p.begin]);
  bool continued = p.begin > 0 && row_of(keys[p.begin - 1]) == row;
  Pack<C, N> sum{};
  for (std::int64_t i = p.begin; i < p.end; i += ahead) {
    std::int64_t rows[ahead] = {};
    Pack<T, N> terms[ahead] = {};
    for (int k = 0; k < ahead; ++k) {
      if (i + k >= p.end) continue;
      Key key = keys[i + k];
      rows[k] = row_of(key);
      terms[k] =
          load_pack<N>(dy + (p.outer * sizes.count + position_of(key)) * sizes.inner + p.inner);
    }
    for (int k = 0; k < ahead; ++k) {
      if (i + k >= p.end) continue;
      if (rows[k] != row) {
        if (continued)
          partial_sum<C, N>(partial, sizes, p, p.chunk, 0) = sum;
        else
          store_row<T, N>(dx, sizes, p, row, sum);
        row = rows[k];
        sum = {};
        continued = false;
      }
      for (int n = 0; n < N; ++n) sum.values[n] += to_compute(terms[k].values[n]);
    }
  }
  bool continues = p.end < sizes.count && row_of(keys[p.end]) == row;
  if (continued || continues)
    partial_sum<C, N>(partial, sizes, p, p.chunk, continued ? 0 : 1) = sum;
  else if (row < sizes.size)
    store_row<T, N>(dx, sizes, p, row, sum);
}

/// Rows of dx whose positions begin in a chunk and go on in others.
template <class T, int N>
__global__ void add_partial_sums(const Key* keys, T* dx, compute_type<T>* partial, Sizes sizes,
                                 std::int64_t threads) {
  using C = compute_type<T>;
  std::int64_t number = thread_number();
  if (number >= threads) return;
  Part p = part_of<N>(number, sizes);
  std::int64_t row = row_of(keys[p.end - 1]);
  bool begins = p.begin == 0 || row_of(keys[p.begin - 1]) != row;
  bool continues = p.end < sizes.count && row_of(keys[p.end]) == row;
  if (!begins || !continues || row >= sizes.size) return;
  Key next_row = static_cast<Key>(row + 1) << 32;
  std::int64_t last = (lower_bound(keys, p.end, sizes.count, next_row) - 1) / chunk_size;
  Pack<C, N> sum = partial_sum<C, N>(partial, sizes, p, p.chunk, 1);
  for (std::int64_t chunk = p.chunk + 1; chunk <= last; ++chunk) {
    Pack<C, N> term = partial_sum<C, N>(partial, sizes, p, chunk, 0);
    for (int n = 0; n < N; ++n) sum.values[n] += term.values[n];
  }
  store_row<T, N>(dx, sizes, p, row, sum);
}

/// Returns where the sorted keys are: in one of two arrays of `count` from `keys` on.
template <class Index>
Key* sort(const void* indices, Key* keys, const Sizes& s, FaultSite site, Stream& stream) {
  launch(stream, threads_for(s.count, 1, tile_size), sort_tiles<Index>,
         static_cast<const Index*>(indices), keys, s.count, s.size, site);
  Key* other = keys + s.count;
  for (std::int64_t width = tile_size; width < s.count; width *= 2, std::swap(keys, other))
    launch(stream, threads_for(s.count), merge_runs, keys, other, s.count, width);
  return keys;
}

template <class T, class Index, int N>
std::unique_ptr<Kernel> kernel(const Sizes& s, std::shared_ptr<Faults::Reporter> reporter) {
  using C = compute_type<T>;
  std::int64_t key_bytes = 2 * s.count * static_cast<std::int64_t>(sizeof(Key));  // 16 * count
  std::int64_t sums = 2 * s.chunks() * s.outer * s.inner;
  auto run = [=](const KernelArguments& a, Stream& stream) {
    auto* dx = a.output<T>(0);
    std::int64_t elements = s.outer * s.size * s.inner;
    launch(stream, threads_for(elements, pack_size<T>), fill_with_zeros<T>, dx, elements);
    const Key* keys = sort<Index>(a.inputs[1], a.scratch<Key>(), s, reporter->site(a), stream);
    auto* partial = reinterpret_cast<C*>(a.scratch<std::byte>() + key_bytes);
    std::int64_t threads = s.outer * s.chunks() * (s.inner / N);
    launch(stream, threads_for(threads), add_chunks<T, N>, keys, a.input<T>(0), dx, partial, s,
           threads);
    launch(stream, threads_for(threads), add_partial_sums<T, N>, keys, dx, partial, s, threads);
  };
  return make_kernel(run, Bytes(key_bytes + sums * static_cast<std::int64_t>(sizeof(C))));
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu& gpu, const KernelOptions&) {
  const auto& o = node.as<GatherGradOptions>();
  Sizes s{
      .outer = 1, .count = node.input(1).shape().elements(), .size = o.shape[o.axis], .inner = 1};
  for (int i = 0; i < o.axis; ++i) s.outer *= o.shape[i];
  for (int i = o.axis + 1; i < o.shape.rank(); ++i) s.inner *= o.shape[i];
  if (s.count >= UINT32_MAX || s.size >= UINT32_MAX) return nullptr;  // halves of a key
  auto reporter = gpu.faults.add(
      "gather_grad: the index at position ",
      s.size == 0 ? " is into an axis of size 0" : concat(" is outside 0..", s.size - 1));
  return dispatch_floating(node.output().dtype, node.op().name, [&](auto t) {
    using T = decltype(t);
    constexpr int n = pack_size<T>;
    bool narrow = node.input(1).dtype() == DType::i32;
    if (s.inner % n == 0)
      return narrow ? kernel<T, std::int32_t, n>(s, reporter)
                    : kernel<T, std::int64_t, n>(s, reporter);
    return narrow ? kernel<T, std::int32_t, 1>(s, reporter)
                  : kernel<T, std::int64_t, 1>(s, reporter);
  });
}

const KernelRegistration registration(gather_grad_op, make);

}  // namespace
}  // namespace belfry::cuda
