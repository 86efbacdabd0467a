#pragma once
// Matrices by columns: folds down the columns in one or two launches, and maps whose factors belong
// to columns. Threads side by side take columns side by side. Internal to backend/cuda/kernels.

#include <algorithm>

#include "belfry/framework/backend/cuda/kernels/reduction/block_reduce.h"

namespace belfry::cuda {

/// `outer` matrices [rows, columns], one after the other, cut into a part for each block: `lanes`
/// threads side by side take V columns each, and blocks share the rows.
struct ColumnTiles {
  std::int64_t outer = 1, rows = 0, columns = 0;
  std::int64_t tiles = 1;         ///< blocks side by side
  std::int64_t parts = 1;         ///< blocks one below the other
  std::int64_t rows_of_part = 0;  ///< of the last: what is left
  int lanes = 1;                  ///< a power of two

  std::int64_t blocks() const { return outer * tiles * parts; }
};

/// With at most `most_lanes`, a power of two; about `blocks` blocks if each thread then has at
/// least 4 rows.
inline ColumnTiles column_tiles(std::int64_t outer, std::int64_t rows, std::int64_t columns, int v,
                                int most_lanes, std::int64_t blocks) {
  ColumnTiles t{.outer = outer, .rows = rows, .columns = columns};
  while (t.lanes < most_lanes && t.lanes * v < columns) t.lanes *= 2;
  t.tiles = (columns + t.lanes * v - 1) / (t.lanes * v);
  std::int64_t at_least = 4 * block_threads / t.lanes;
  std::int64_t wanted = blocks / std::max<std::int64_t>(outer * t.tiles, 1);
  t.parts = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(rows / at_least, 1));
  t.rows_of_part = (rows + t.parts - 1) / t.parts;
  if (rows > 0) t.parts = (rows + t.rows_of_part - 1) / t.rows_of_part;
  return t;
}

/// The task of a thread: rows begin, begin + step, ... of the columns column .. column + V - 1.
struct ColumnTask {
  std::int64_t outer, part, column, begin, end;
  int first_row, step;  ///< row within the block, rows of a block
  bool idle;            ///< beyond the last column
};

template <int V>
__device__ ColumnTask column_task(const ColumnTiles& t) {
  ColumnTask task;
  std::int64_t block = blockIdx.x, lane = threadIdx.x % t.lanes;
  std::int64_t above = block / t.tiles;
  task.outer = above / t.parts;
  task.part = above % t.parts;
  task.column = (block % t.tiles * t.lanes + lane) * V;
  task.first_row = static_cast<int>(threadIdx.x) / t.lanes;
  task.step = block_threads / t.lanes;
  task.begin = task.part * t.rows_of_part + task.first_row;
  task.end = task.part * t.rows_of_part + t.rows_of_part;
  if (task.end > t.rows) task.end = t.rows;
  task.idle = task.column >= t.columns;
  return task;
}

/// Calls use(row, loaded) for the rows of a task, in order, where load(row) has been called for
/// `at_once` rows before the first of them is used.
template <int at_once, class Load, class Use>
__device__ void for_each_row(const ColumnTask& task, Load load, Use use) {
  std::int64_t row = task.begin, step = task.step;
  for (; row + (at_once - 1) * step < task.end; row += at_once * step) {
    decltype(load(row)) loaded[at_once];
    for (int i = 0; i < at_once; ++i) loaded[i] = load(row + i * step);
    for (int i = 0; i < at_once; ++i) use(row + i * step, loaded[i]);
  }
  for (; row < task.end; row += step) use(row, load(row));
}

/// The same where use() stores nothing that another thread loads: the next rows are on their way
/// meanwhile.
template <int at_once, class Load, class Use>
__device__ void for_each_row_read(const ColumnTask& task, Load load, Use use) {
  std::int64_t row = task.begin, step = task.step, several = at_once * step;
  auto fit = [&](std::int64_t first) { return first + several - step < task.end; };
  decltype(load(row)) loaded[at_once], next[at_once];
  bool more = fit(row);
  if (more)
    for (int i = 0; i < at_once; ++i) loaded[i] = load(row + i * step);
  while (more) {
    more = fit(row + several);
    if (more)
      for (int i = 0; i < at_once; ++i) next[i] = load(row + several + i * step);
    for (int i = 0; i < at_once; ++i) {
      use(row + i * step, loaded[i]);
      loaded[i] = next[i];
    }
    row += several;
  }
  for (; row < task.end; row += step) use(row, load(row));
}

/// Folds each column. `source.at<V>(column)` is what a thread needs of its columns: load(row),
/// where rows count through all matrices, is what lies in memory, and read(row, loaded, items)
/// makes an Item of each column of it. Fold has take_row(A (&)[V], Item (&)[V]) beside add(A, A).
/// The result goes to `partial` [outer, parts, columns] or, when that is null, to out(place in
/// [outer, columns], A).
template <class Fold, class A, int V, class Source, class Out>
__global__ void __launch_bounds__(block_threads, 2)
    fold_columns(Source source, ColumnTiles tiles, A* partial, Out out) {
  __shared__ A shared[V][block_threads];
  ColumnTask task = column_task<V>(tiles);
  A folds[V];
  for (int k = 0; k < V; ++k) folds[k] = Fold::template first<A>();
  if (!task.idle) {
    auto columns = source.template at<V>(task.column);
    std::int64_t above = task.outer * tiles.rows;
    for_each_row_read<2>(
        task, [&](std::int64_t row) { return columns.load(above + row); },
        [&](std::int64_t row, const auto& loaded) {
          typename Source::Item items[V];
          columns.read(above + row, loaded, items);
          Fold::take_row(folds, items);
        });
  }
  for (int k = 0; k < V; ++k) shared[k][threadIdx.x] = folds[k];
  for (int half = task.step / 2; half > 0; half /= 2) {
    __syncthreads();
    if (task.first_row >= half) continue;
    for (int k = 0; k < V; ++k)
      shared[k][threadIdx.x] =
          Fold::add(shared[k][threadIdx.x], shared[k][threadIdx.x + half * tiles.lanes]);
  }
  if (task.first_row != 0 || task.idle) return;
  for (int k = 0; k < V; ++k) {
    std::int64_t column = task.column + k;
    if (partial) {
      partial[(task.outer * tiles.parts + task.part) * tiles.columns + column] =
          shared[k][threadIdx.x];
    } else {
      out(task.outer * tiles.columns + column, shared[k][threadIdx.x]);
    }
  }
}

/// The elements of a matrix as what fold_columns reads.
template <class A, class T>
struct MatrixElements {
  using Item = A;
  const T* x;
  std::int64_t columns;

  template <int V>
  struct Columns {
    const T* x;
    std::int64_t stride;
    __device__ Pack<T, V> load(std::int64_t row) const { return load_pack<V>(x + row * stride); }
    __device__ void read(std::int64_t, const Pack<T, V>& loaded, A (&items)[V]) const {
      for (int k = 0; k < V; ++k) items[k] = static_cast<A>(to_compute(loaded.values[k]));
    }
  };
  template <int V>
  __device__ Columns<V> at(std::int64_t column) const {
    return {x + column, columns};
  }
};

/// The partial folds that the first launch has left for the second, which takes one column a
/// thread.
template <class A>
struct PartialFolds {
  using Item = A;
  const A* folds;
  std::int64_t columns;

  template <int V>
  __device__ PartialFolds at(std::int64_t column) const {
    static_assert(V == 1);
    return {folds + column, columns};
  }
  __device__ A load(std::int64_t row) const { return folds[row * columns]; }
  __device__ void read(std::int64_t, const A& loaded, A (&items)[1]) const { items[0] = loaded; }
};

/// A fold for fold_columns whose items are of the type in which they accumulate.
template <class Fold>
struct Taking : Fold {
  template <class A, int V>
  static __device__ void take_row(A (&folds)[V], const A (&items)[V]) {
    for (int k = 0; k < V; ++k) folds[k] = Fold::add(folds[k], items[k]);
  }
};

// About so many blocks, for each multiprocessor of an H100: folds have a tail of several barriers,
// so that few long blocks are best; maps have none, and many even out how fast blocks are.
constexpr std::int64_t fold_blocks = 4 * 132, map_blocks = 64 * 132;

/// A fold of all columns, decided on the host.
template <class Fold, class A>
class ColumnFold {
 public:
  /// V: as it will be given to enqueue().
  ColumnFold(std::int64_t outer, std::int64_t rows, std::int64_t columns, int v)
      : first_(fold_tiles(outer, rows, columns, v)),
        second_(column_tiles(outer, first_.parts, columns, 1, 2, 1)) {}

  Bytes workspace() const {
    if (first_.parts == 1) return Bytes(0);
    return Bytes(first_.outer * first_.parts * first_.columns * std::int64_t{sizeof(A)});
  }

  /// Two launches, or one where few rows make that the quicker way.
  template <int V, class Source, class Out>
  void enqueue(Stream& stream, const Source& source, const Out& out, void* workspace) const {
    auto* partial = first_.parts == 1 ? nullptr : static_cast<A*>(workspace);
    launch(stream, {first_.blocks(), block_threads}, fold_columns<Fold, A, V, Source, Out>, source,
           first_, partial, out);
    if (partial)
      launch(stream, {second_.blocks(), block_threads},
             fold_columns<Fold, A, 1, PartialFolds<A>, Out>,
             PartialFolds<A>{partial, first_.columns}, second_, nullptr, out);
  }

 private:
  // No parts, and so one launch, where a block can take all rows at no more than 16 a thread.
  static ColumnTiles fold_tiles(std::int64_t outer, std::int64_t rows, std::int64_t columns,
                                int v) {
    ColumnTiles tiles = column_tiles(outer, rows, columns, v, 32, fold_blocks);
    bool few = rows <= 16 * block_threads / tiles.lanes;
    return few ? column_tiles(outer, rows, columns, v, 32, 1) : tiles;
  }

  ColumnTiles first_, second_;
};

/// Calls f(std::integral_constant<int, V>) with the columns that a thread takes of an array of T.
template <class T, class F>
void with_columns_at_once(std::int64_t columns, F f) {
  constexpr int v = std::is_integral_v<T> ? 1 : pack_size<T>;
  if (columns % v == 0) {
    f(std::integral_constant<int, v>());
  } else {
    f(std::integral_constant<int, 1>());
  }
}

/// Applies Map to each element of a matrix: `map.at<V>(column)` is what a thread needs for its
/// columns: load(row) is what lies in memory of V elements, and apply(row, loaded) does them.
template <int V, class Map>
__global__ void __launch_bounds__(block_threads, 2) map_columns(Map map, ColumnTiles tiles) {
  ColumnTask task = column_task<V>(tiles);
  if (task.idle) return;
  auto columns = map.template at<V>(task.column);
  for_each_row<4>(
      task, [&](std::int64_t row) { return columns.load(row); },
      [&](std::int64_t row, const auto& loaded) { columns.apply(row, loaded); });
}

/// The tiles for it.
inline ColumnTiles map_tiles(std::int64_t rows, std::int64_t columns, int v) {
  return column_tiles(1, rows, columns, v, 32, map_blocks);
}

}  // namespace belfry::cuda
