// The gradient of the recurrence: two launches to each step, a pass over the units and the product
// with the kernel's transpose.

#include "belfry/framework/backend/cuda/kernels/recurrent/recurrent.h"

namespace belfry::cuda {
namespace {

constexpr int warp_threads = 32;

template <class T>
struct Operands {
  using C = compute_type<T>;
  const T *kernel, *y, *h, *c, *dy;
  const C* kept;
  const std::int64_t* lengths;
  T *dz, *before, *dq;
  C *dh, *dc;     ///< the state's gradient as it is
  C* dq_of_step;  ///< [rows, width]
};

/// A thread to each unit of each row.
template <class Cell, class T>
__global__ void run_step(RecurrentSizes s, Operands<T> o, std::int64_t step) {
  using C = compute_type<T>;
  std::int64_t i = thread_number(), row = i / s.units, unit = i - row * s.units;
  if (row >= s.rows) return;
  std::int64_t length = s.length(o.lengths, row), width = s.width();
  bool counts = step < length;
  std::int64_t position = row * s.steps + (counts ? s.position(step, length) : step);
  C dz[Cell::gates] = {}, dq[Cell::gates] = {};
  cell::UnitState<C> before{0};
  if (counts) {
    std::int64_t previous = row * s.steps + s.position(step - 1, length);
    auto kept_at = [&](std::int64_t at, int k) {
      return o.kept[(at * Cell::kept + k) * s.units + unit];
    };
    C kept[Cell::room] = {};
    for (int k = 0; k < Cell::kept; ++k) kept[k] = kept_at(position, k);
    if (step > 0)
      before.h = load(o.y + previous * s.units + unit);
    else if (o.h)
      before.h = load(o.h + i);
    if constexpr (Cell::has_c) {  // the last of what is kept
      if (step > 0)
        before.c = kept_at(previous, Cell::kept - 1);
      else if (o.c)
        before.c = load(o.c + i);
    }
    C dy = o.dy ? load(o.dy + position * s.units + unit) : C(0);
    cell::UnitState<C> after{o.dh[i] + dy, Cell::has_c ? o.dc[i] : C(0)};
    cell::UnitState<C> gradient = Cell::template backward<StdMath>(
        kept, load(o.y + position * s.units + unit), before, after, dz, dq);
    o.dh[i] = gradient.h;
    if (Cell::has_c) o.dc[i] = gradient.c;
  }
  store(o.before + position * s.units + unit, before.h);
  for (int g = 0; g < Cell::gates; ++g) {
    std::int64_t at = g * s.units + unit;
    store(o.dz + position * width + at, dz[g]);
    if (o.dq) store(o.dq + position * width + at, dq[g]);
    o.dq_of_step[row * width + at] = dq[g];
  }
}

/// dh += dq times the kernel's transpose; a warp to each unit of a few rows.
template <class T>
__global__ void add_products(RecurrentSizes s, const T* kernel, const compute_type<T>* dq,
                             compute_type<T>* dh) {
  using C = compute_type<T>;
  std::int64_t warp = group_number<warp_threads>(), unit = warp % s.units,
               first = warp / s.units * rows_at_once, width = s.width();
  int lane = number_in_group<warp_threads>();
  const C* of_row[rows_at_once];
  for (int r = 0; r < rows_at_once; ++r)
    of_row[r] = dq + (first + r < s.rows ? first + r : 0) * width;
  C sums[rows_at_once] = {};
  if (first < s.rows)
    for (std::int64_t j = lane; j < width; j += warp_threads) {
      C element = load(kernel + unit * width + j);
      for (int r = 0; r < rows_at_once; ++r) sums[r] += of_row[r][j] * element;
    }
  for (int r = 0; r < rows_at_once; ++r) {
    C sum = reduce_warp<Sum>(sums[r]);
    if (lane == 0 && first + r < s.rows) dh[(first + r) * s.units + unit] += sum;
  }
}

template <class Cell, class T>
std::unique_ptr<Kernel> make_for(const Node& node) {
  using C = compute_type<T>;
  const auto& options = node.as<RecurrentGradOptions>();
  RecurrentSizes s(node.input(1).shape(), options.recurrent);
  RecurrentGradIndices at(options);
  std::int64_t count = s.rows * s.units;
  auto run = [=](const KernelArguments& a, Stream& stream) {
    auto* scratch = a.scratch<C>();
    Operands<T> o{.kernel = a.input<T>(0),
                  .y = a.input<T>(1),
                  .h = given<T>(a, at.h),
                  .c = given<T>(a, at.c),
                  .dy = given<T>(a, at.dy),
                  .kept = given<C>(a, at.kept),
                  .lengths = given<std::int64_t>(a, at.lengths),
                  .dz = a.output<T>(0),
                  .before = a.output<T>(1),
                  .dq = wanted<T>(a, at.dq),
                  .dh = scratch,
                  .dc = scratch + count,
                  .dq_of_step = scratch + 2 * count};
    launch(stream, threads_for(count), read_state<T>, given<T>(a, at.dh), count, o.dh);
    if (Cell::has_c)
      launch(stream, threads_for(count), read_state<T>, given<T>(a, at.dc), count, o.dc);
    std::int64_t warps = (s.rows + rows_at_once - 1) / rows_at_once * s.units;
    for (std::int64_t step = s.steps - 1; step >= 0; --step) {
      launch(stream, threads_for(count, 1, 128), run_step<Cell, T>, s, o, step);
      if (step > 0 || at.out_dh > 0)
        launch(stream, threads_for(warps * warp_threads), add_products<T>, s, o.kernel,
               o.dq_of_step, o.dh);
    }
    if (at.out_dh > 0)
      launch(stream, threads_for(count), write_state<T>, o.dh, count, a.output<T>(at.out_dh));
    if (at.out_dc > 0)
      launch(stream, threads_for(count), write_state<T>, o.dc, count, a.output<T>(at.out_dc));
  };
  return make_kernel(run, Bytes((2 * count + s.rows * s.width()) * std::int64_t{sizeof(C)}));
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  RecurrentCell cell = node.as<RecurrentGradOptions>().recurrent.cell;
  return kernel_of_cell(cell, node.output().dtype, node.op().name,
                        [&](auto c, auto t) { return make_for<decltype(c), decltype(t)>(node); });
}

const KernelRegistration registration(recurrent_grad_op, make);

}  // namespace
}  // namespace belfry::cuda
