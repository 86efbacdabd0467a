#pragma once
// The common parts of the recurrence of recurrent layers and its gradient: how units and rows are
// given to threads, and states. Internal to backend/cuda/kernels.

#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/kernels/reduction/rows.h"
#include "belfry/framework/ops/recurrent/recurrence.h"

namespace belfry::cuda {

/// Rows that a thread takes at once, with each element of the kernel that it loads.
constexpr int rows_at_once = 4;

/// A state [rows, units] to begin with: that of an operand, or zeros.
template <class T>
__global__ void read_state(const T* given, std::int64_t count, compute_type<T>* state) {
  std::int64_t i = thread_number();
  if (i < count) state[i] = given ? load(given + i) : compute_type<T>(0);
}

template <class T>
__global__ void write_state(const compute_type<T>* state, std::int64_t count, T* out) {
  std::int64_t i = thread_number();
  if (i < count) store(out + i, state[i]);
}

template <class T>
const T* given(const KernelArguments& a, int input) {
  return input > 0 ? a.input<T>(input) : nullptr;
}
template <class T>
T* wanted(const KernelArguments& a, int output) {
  return output > 0 ? a.output<T>(output) : nullptr;
}

/// Calls f(cell, element) for the cell and type of a node.
template <class F>
std::unique_ptr<Kernel> kernel_of_cell(RecurrentCell cell, DType dtype, std::string_view op, F f) {
  return dispatch_cell(
      cell, [&](auto c) { return dispatch_floating(dtype, op, [&](auto t) { return f(c, t); }); });
}

}  // namespace belfry::cuda
