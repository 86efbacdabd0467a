#pragma once
// Reductions over any axes: one fold, by rows, by columns, or element by element. Internal to
// backend/cuda/kernels.

#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/kernels/layout.h"
#include "belfry/framework/backend/cuda/kernels/reduction/columns.h"
#include "belfry/framework/backend/cuda/kernels/reduction/rows.h"
#include "belfry/framework/ops/reduction/reduction.h"

namespace belfry::cuda {

/// Rows of `length`, cut into parts.
struct RowParts {
  std::int64_t rows = 0, length = 0, parts = 1, length_of_part = 0;
};

/// Long rows of which there are too few to occupy a GPU are shared by several groups.
inline RowParts row_parts(std::int64_t rows, std::int64_t length) {
  constexpr std::int64_t blocks = 512, least = 4096;
  RowParts r{.rows = rows, .length = length};
  r.parts = std::clamp<std::int64_t>(blocks / std::max<std::int64_t>(rows, 1), 1,
                                     std::max<std::int64_t>(length / least, 1));
  r.length_of_part = ((length + r.parts - 1) / r.parts + 15) / 16 * 16;  // aligned
  if (length > 0) r.parts = (length + r.length_of_part - 1) / r.length_of_part;
  return r;
}

template <class A, class T>
__device__ void store_fold(T* at, A fold) {
  store(at, static_cast<compute_type<T>>(fold));
}

/// A group to each part of a row; the result goes to `partial` or, when that is null, to `out`.
template <class Fold, class A, int Group, class In, class T>
__global__ void reduce_rows(const In* x, RowParts r, A* partial, T* out) {
  std::int64_t group = group_number<Group>();
  std::int64_t row = group / r.parts, begin = group % r.parts * r.length_of_part;
  A fold = Fold::template first<A>();
  if (row < r.rows) {
    std::int64_t left = r.length - begin;
    for_each_in_row<Group>(
        x + row * r.length + begin, left < r.length_of_part ? left : r.length_of_part,
        [&](std::int64_t, auto value) { fold = Fold::add(fold, static_cast<A>(value)); });
  }
  fold = reduce_group<Group, Fold>(fold);
  if (row >= r.rows || number_in_group<Group>() != 0) return;
  if (partial) {
    partial[group] = fold;
  } else {
    store_fold(out + row, fold);
  }
}

/// A group, or one thread, to each element of the result, wherever what it reduces may lie.
template <class Fold, class A, int Group, class T>
__global__ void reduce_strided(const T* x, Layout<1> kept, Layout<1> reduced, std::int64_t results,
                               std::int64_t length, T* out) {
  std::int64_t result = group_number<Group>();
  A fold = Fold::template first<A>();
  if (result < results) {
    std::int64_t start[1], at[1];
    kept.offsets(result, start);
    for (std::int64_t j = number_in_group<Group>(); j < length; j += Group) {
      reduced.offsets(j, at);
      fold = Fold::add(fold, static_cast<A>(load(x + start[0] + at[0])));
    }
  }
  if constexpr (Group > 1) fold = reduce_group<Group, Fold>(fold);
  if (result < results && number_in_group<Group>() == 0) store_fold(out + result, fold);
}

template <class A, class T>
struct StoreFold {
  T* out;
  __device__ void operator()(std::int64_t index, A fold) const { store_fold(out + index, fold); }
};

/// Makes the kernels of one fold on T.
template <class Fold, class T>
class Reduction {
  using A = typename Fold::template Accumulator<T>;

 public:
  explicit Reduction(const Node& node)
      : Reduction(ReductionWalk(node.input(0).shape(), node.as<ReduceOptions>().axes)) {}

  std::unique_ptr<Kernel> make() const {
    constexpr std::int64_t few = 32, many = 8192;
    if (results_ == 0) return make_kernel([](const KernelArguments&, Stream&) {});
    if (length_ <= few && results_ >= many) return strided<1>();
    if (length_ <= 1) return strided<1>();
    std::unique_ptr<Kernel> kernel;
    bool one_run = reduced_.rank == 1;  // of neighbouring axes
    if (one_run && reduced_.strides[0][0] == 1) return rows();
    if (one_run) return columns(reduced_.strides[0][0]);
    with_group_for(results_, length_, [&](auto group) { kernel = strided<group()>(); });
    return kernel;
  }

 private:
  explicit Reduction(const ReductionWalk& walk)
      : results_(walk.kept.elements()),
        length_(walk.reduced.elements()),
        kept_(make_layout<1>(walk.kept, {walk.kept_strides})),
        reduced_(make_layout<1>(walk.reduced, {walk.reduced_strides})) {}

  static const T* in(const KernelArguments& a) { return a.input<T>(0); }
  static T* out(const KernelArguments& a) { return a.output<T>(0); }

  std::unique_ptr<Kernel> rows() const {
    RowParts parts = row_parts(results_, length_);
    RowParts rest{.rows = results_, .length = parts.parts, .length_of_part = parts.parts};
    std::int64_t partials = parts.parts > 1 ? results_ * parts.parts : 0;
    std::unique_ptr<Kernel> kernel;
    with_group_for(results_ * parts.parts, parts.length_of_part, [&](auto group) {
      auto run = [=](const KernelArguments& a, Stream& stream) {
        A* partial = partials > 0 ? a.scratch<A>() : nullptr;
        launch(stream, groups<group()>(parts.rows * parts.parts),
               reduce_rows<Fold, A, group(), T, T>, in(a), parts, partial, out(a));
        if (partial)
          launch(stream, groups<block_threads>(rest.rows),
                 reduce_rows<Fold, A, block_threads, A, T>, partial, rest, nullptr, out(a));
      };
      kernel = make_kernel(run, Bytes(partials * std::int64_t{sizeof(A)}));
    });
    return kernel;
  }

  std::unique_ptr<Kernel> columns(std::int64_t inner) const {
    std::unique_ptr<Kernel> kernel;
    with_columns_at_once<T>(inner, [&](auto v) {
      ColumnFold<Taking<Fold>, A> fold(results_ / inner, length_, inner, v());
      auto run = [=](const KernelArguments& a, Stream& stream) {
        fold.template enqueue<v()>(stream, MatrixElements<A, T>{in(a), inner},
                                   StoreFold<A, T>{out(a)}, a.workspace);
      };
      kernel = make_kernel(run, fold.workspace());
    });
    return kernel;
  }

  template <int Group>
  std::unique_ptr<Kernel> strided() const {
    return make_kernel([=, *this](const KernelArguments& a, Stream& stream) {
      launch(stream, groups<Group>(results_), reduce_strided<Fold, A, Group, T>, in(a), kept_,
             reduced_, results_, length_, out(a));
    });
  }

  std::int64_t results_, length_;
  Layout<1> kept_, reduced_;
};

template <class Fold>
std::unique_ptr<Kernel> make_reduction(const Node& node, const Gpu&, const KernelOptions&) {
  return dispatch(node.output().dtype, [&](auto t) -> std::unique_ptr<Kernel> {
    using T = decltype(t);
    if constexpr (std::is_same_v<T, bool>) {
      return nullptr;
    } else {
      return Reduction<Fold, T>(node).make();
    }
  });
}

}  // namespace belfry::cuda
