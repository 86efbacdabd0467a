// The recurrence of recurrent layers: a launch to each step, a thread to a unit of a few rows.

#include "belfry/framework/backend/cuda/kernels/recurrent/recurrent.h"

namespace belfry::cuda {
namespace {

template <class T>
struct Operands {
  using C = compute_type<T>;
  const T *z, *kernel, *bias;
  const std::int64_t* lengths;
  T* y;
  C* kept;
  C *h, *h_after, *c;  ///< the state as it is; c changes in position
};

/// Reports rows whose length is bad.
__global__ void check_lengths(RecurrentSizes sizes, const std::int64_t* lengths, FaultSite site) {
  std::int64_t row = thread_number();
  if (row < sizes.rows && (lengths[row] < 0 || lengths[row] > sizes.steps)) report(site, row);
}

template <class Cell, class T>
__global__ void run_step(RecurrentSizes s, Operands<T> o, std::int64_t step) {
  using C = compute_type<T>;
  std::int64_t thread = thread_number(), unit = thread % s.units,
               first = thread / s.units * rows_at_once, width = s.width();
  if (first >= s.rows) return;
  const C* of_row[rows_at_once];
  C q[rows_at_once][Cell::gates];
  for (int r = 0; r < rows_at_once; ++r) {
    of_row[r] = o.h + (first + r < s.rows ? first + r : first) * s.units;
    for (int g = 0; g < Cell::gates; ++g)
      q[r][g] = o.bias ? load(o.bias + g * s.units + unit) : C(0);
  }
  for (std::int64_t k = 0; k < s.units; ++k) {
    C column[Cell::gates];
    for (int g = 0; g < Cell::gates; ++g)
      column[g] = load(o.kernel + k * width + g * s.units + unit);
    for (int r = 0; r < rows_at_once; ++r)
      for (int g = 0; g < Cell::gates; ++g) q[r][g] += of_row[r][k] * column[g];
  }
  for (int r = 0; r < rows_at_once; ++r) {
    std::int64_t row = first + r;
    if (row >= s.rows) return;
    std::int64_t length = s.length(o.lengths, row), i = row * s.units + unit;
    bool counts = step < length;
    std::int64_t position = row * s.steps + (counts ? s.position(step, length) : step);
    cell::UnitState<C> after{o.h[i], Cell::has_c ? o.c[i] : C(0)};
    C kept[Cell::room] = {};
    if (counts) {
      C z[Cell::gates];
      for (int g = 0; g < Cell::gates; ++g)
        z[g] = load(o.z + position * width + g * s.units + unit);
      after = Cell::template forward<StdMath>(z, q[r], after, kept);
    }
    for (int k = 0; k < Cell::kept; ++k)
      o.kept[(position * Cell::kept + k) * s.units + unit] = kept[k];
    store(o.y + position * s.units + unit, counts ? after.h : C(0));
    o.h_after[i] = after.h;
    if (Cell::has_c) o.c[i] = after.c;
  }
}

template <class Cell, class T>
std::unique_ptr<Kernel> make_for(const Node& node, const Gpu& gpu) {
  using C = compute_type<T>;
  const auto& options = node.as<RecurrentNodeOptions>();
  RecurrentSizes s(node.output().shape, options.recurrent);
  RecurrentIndices at(options);
  std::int64_t count = s.rows * s.units;
  auto fault = gpu.faults.add("recurrent: the length at row ", concat(" is outside 0..", s.steps));
  auto run = [=](const KernelArguments& a, Stream& stream) {
    auto* states = a.scratch<C>();
    Operands<T> o{.z = a.input<T>(0),
                  .kernel = a.input<T>(1),
                  .bias = given<T>(a, at.bias),
                  .lengths = given<std::int64_t>(a, at.lengths),
                  .y = a.output<T>(0),
                  .kept = wanted<C>(a, at.kept),
                  .h = states,
                  .h_after = states + count,
                  .c = states + 2 * count};
    if (o.lengths) launch(stream, threads_for(s.rows), check_lengths, s, o.lengths, fault->site(a));
    launch(stream, threads_for(count), read_state<T>, given<T>(a, at.h), count, o.h);
    if (Cell::has_c)
      launch(stream, threads_for(count), read_state<T>, given<T>(a, at.c), count, o.c);
    std::int64_t threads = (s.rows + rows_at_once - 1) / rows_at_once * s.units;
    for (std::int64_t step = 0; step < s.steps; ++step) {
      launch(stream, threads_for(threads, 1, 128), run_step<Cell, T>, s, o, step);
      std::swap(o.h, o.h_after);
    }
    launch(stream, threads_for(count), write_state<T>, o.h, count, a.output<T>(1));
    if (Cell::has_c)
      launch(stream, threads_for(count), write_state<T>, o.c, count, a.output<T>(at.out_c));
  };
  return make_kernel(run, Bytes(3 * count * std::int64_t{sizeof(C)}));
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu& gpu, const KernelOptions&) {
  RecurrentCell cell = node.as<RecurrentNodeOptions>().recurrent.cell;
  return kernel_of_cell(cell, node.output().dtype, node.op().name, [&](auto c, auto t) {
    return make_for<decltype(c), decltype(t)>(node, gpu);
  });
}

const KernelRegistration registration(recurrent_op, make);

}  // namespace
}  // namespace belfry::cuda
