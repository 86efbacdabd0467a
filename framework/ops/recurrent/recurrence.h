#pragma once
// The common parts of the kernels of recurrent() on every device: the op objects with their
// operands, sizes, and the order of steps. nvcc reads this file too.

#include <cstdint>
#include <span>
#include <string_view>

#include "belfry/framework/graph/op_def.h"
#include "belfry/framework/ops/recurrent/cells.h"
#include "belfry/framework/ops/recurrent/recurrent.h"

namespace belfry {

/// (z, kernel, [bias], [h, [c]], [lengths]) -> (y, h, [c], [kept]). c is there for cells that have
/// it; kept [n, t, kept units] has what the gradient reads, in f32, or f64 for f64.
struct RecurrentNodeOptions {
  RecurrentOptions recurrent = {};
  bool bias = false, initial = false, lengths = false;  ///< which operands there are
  static void fields(auto& o, auto&& field) {
    RecurrentOptions::fields(o.recurrent, field);
    field("bias", o.bias);
    field("initial", o.initial);
    field("lengths", o.lengths);
  }
};
extern const OpDef recurrent_op;

/// (kernel, y, [kept], [h, [c]], [lengths], [dy], [dh], [dc]) -> (dz, h before each step [n, t,
/// units], [dq], [dh, [dc]]): the gradients of z, of h U + b where it is another one, and of the
/// initial state.
struct RecurrentGradOptions {
  RecurrentOptions recurrent = {};
  bool initial = false, lengths = false, dy = false, dh = false, dc = false;
  static void fields(auto& o, auto&& field) {
    RecurrentOptions::fields(o.recurrent, field);
    field("initial", o.initial);
    field("lengths", o.lengths);
    field("dy", o.dy);
    field("dh", o.dh);
    field("dc", o.dc);
  }
};
extern const OpDef recurrent_grad_op;

/// Calls f(cell), cell being an object of the struct in cells.h.
template <class F>
decltype(auto) dispatch_cell(RecurrentCell cell, F f) {
  switch (cell) {
    case RecurrentCell::lstm:
      return f(cell::Lstm());
    case RecurrentCell::gru:
      return f(cell::Gru());
    case RecurrentCell::tanh:
      return f(cell::Tanh());
    default:
      return f(cell::Relu());
  }
}

/// Whether the gradient of q is not that of z.
constexpr bool has_own_dq(RecurrentCell cell) { return cell == RecurrentCell::gru; }

/// Indices of operands and results; -1 for those that are not there.
struct RecurrentIndices {
  int bias = -1, h = -1, c = -1, lengths = -1;
  int out_c = -1, kept = -1;
  std::size_t inputs = 2;  ///< how many there are
  explicit RecurrentIndices(const RecurrentNodeOptions& o);
};
struct RecurrentGradIndices {
  int kept = -1, h = -1, c = -1, lengths = -1, dy = -1, dh = -1, dc = -1;
  int dq = -1, out_dh = -1, out_dc = -1;
  explicit RecurrentGradIndices(const RecurrentGradOptions& o);
};

/// Rows, steps, units, and the order of steps.
struct RecurrentSizes {
  std::int64_t rows = 0, steps = 0, units = 0;
  int gates = 1, kept = 0;
  bool reverse = false;

  RecurrentSizes(const Shape& y, RecurrentOptions options);
  BELFRY_HOST_DEVICE std::int64_t width() const { return gates * units; }
  /// Where step `step` of a row of so many lies in its sequence.
  BELFRY_HOST_DEVICE std::int64_t position(std::int64_t step, std::int64_t length) const {
    return reverse ? length - 1 - step : step;
  }
  /// Steps of row `row` that count, 0 for a bad length: kernels of a GPU tell of it, and go on.
  BELFRY_HOST_DEVICE std::int64_t length(const std::int64_t* lengths, std::int64_t row) const {
    if (!lengths) return steps;
    return lengths[row] < 0 || lengths[row] > steps ? 0 : lengths[row];
  }
};

/// Error naming the first row whose length is bad; `lengths` may be null.
void check_recurrent_lengths(const std::int64_t* lengths, const RecurrentSizes& sizes);

}  // namespace belfry
