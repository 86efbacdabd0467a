#pragma once
// The common parts of the reference kernels of recurrent(): one row in double.

#include <algorithm>
#include <vector>

#include "belfry/framework/ops/nn_checks.h"
#include "belfry/framework/ops/recurrent/recurrence.h"
#include "belfry/framework/tensor/dtype.h"

namespace belfry {

/// Calls f(cell, element, element of statistics).
template <class F>
void dispatch_recurrent(RecurrentCell cell, DType dtype, F f) {
  dispatch_cell(cell, [&](auto c) {
    dispatch_floating(dtype, recurrent_op.name, [&](auto t) {
      using T = decltype(t);
      f(c, t, std::conditional_t<std::is_same_v<T, double>, double, float>{});
    });
  });
}

/// Steps of the row that count; `lengths` is the position of the operand, -1 for none.
inline std::int64_t row_length(const KernelContext& c, int lengths, const RecurrentSizes& s,
                               std::int64_t row) {
  return s.length(lengths > 0 ? c.input(lengths).as<std::int64_t>() : nullptr, row);
}

/// The row's part of a state [n, units]; zeros if there is none.
template <class T>
std::vector<double> state_of_row(const T* state, const RecurrentSizes& s, std::int64_t row) {
  std::vector<double> out(s.units);
  for (std::int64_t u = 0; state && u < s.units; ++u) out[u] = load(state[row * s.units + u]);
  return out;
}

template <class T>
void write_state(const std::vector<double>& of_row, const RecurrentSizes& s, std::int64_t row,
                 T* state) {
  for (std::int64_t u = 0; u < s.units; ++u) state[row * s.units + u] = store<T>(of_row[u]);
}

/// The values of unit u among those of a position.
template <class T, int N>
void read_unit(const T* values, const RecurrentSizes& s, std::int64_t u, double (&out)[N]) {
  for (int i = 0; i < N; ++i) out[i] = load(values[i * s.units + u]);
}
template <class T, int N>
void write_unit(const double (&values)[N], const RecurrentSizes& s, std::int64_t u, T* out) {
  for (int i = 0; i < N; ++i) out[i * s.units + u] = store<T>(values[i]);
}

/// Zeros behind the row's length, in an array of `width` elements a position.
template <class T>
void clear_padding(const ArrayView& array, std::int64_t width, const RecurrentSizes& s,
                   std::int64_t row, std::int64_t length) {
  std::fill_n(array.as<T>() + (row * s.steps + length) * width, (s.steps - length) * width, T{});
}

}  // namespace belfry
