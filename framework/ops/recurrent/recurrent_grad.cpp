#include "belfry/framework/ops/nn_checks.h"
#include "belfry/framework/ops/recurrent/recurrent_row.h"

namespace belfry {
namespace {

std::vector<TensorType> shape(const ShapeContext& c) {
  const auto& o = c.as<RecurrentGradOptions>();
  RecurrentGradIndices at(o);
  const TensorType &kernel = c.inputs[0], &y = c.inputs[1];
  require_rank(c.op, "y", y, 3, "[n, t, units]");
  RecurrentSizes s(y.shape, o.recurrent);
  require_type(c.op, "kernel", kernel, {{s.units, s.width()}, y.dtype});
  TensorType state{{s.rows, s.units}, y.dtype}, dz{{s.rows, s.steps, s.width()}, y.dtype};
  if (at.kept > 0)
    require_type(c.op, "kept", c.inputs[at.kept],
                 {{s.rows, s.steps, s.kept * s.units}, statistics_type(y.dtype)});
  if (at.dy > 0) require_type(c.op, "gradient of y", c.inputs[at.dy], y);
  for (int i : {at.h, at.c, at.dh, at.dc})
    if (i > 0) require_type(c.op, "state or its gradient", c.inputs[i], state);
  if (at.lengths > 0) require_type(c.op, "lengths", c.inputs[at.lengths], {{s.rows}, DType::i64});
  std::vector<TensorType> outputs{dz, y};
  if (at.dq > 0) outputs.push_back(dz);
  if (at.out_dh > 0) outputs.push_back(state);
  if (at.out_dc > 0) outputs.push_back(state);
  return outputs;
}

template <class C, class T, class S>
void run_row(const KernelContext& c, const RecurrentSizes& s, std::int64_t row) {
  RecurrentGradIndices at(c.as<RecurrentGradOptions>());
  auto in = [&](int i) { return i > 0 ? c.input(i).as<T>() : nullptr; };
  const T *kernel = c.input(0).as<T>(), *y = in(1), *dy = in(at.dy);
  const S* kept = at.kept > 0 ? c.input(at.kept).as<S>() : nullptr;
  std::vector<double> first_h = state_of_row(in(at.h), s, row),
                      first_c = state_of_row(in(at.c), s, row),
                      dh = state_of_row(in(at.dh), s, row), dc = state_of_row(in(at.dc), s, row),
                      dq(s.width());
  std::int64_t length = row_length(c, at.lengths, s, row);
  for (std::int64_t step = length - 1; step >= 0; --step) {
    std::int64_t position = row * s.steps + s.position(step, length),
                 previous = row * s.steps + s.position(step - 1, length);
    for (std::int64_t u = 0; u < s.units; ++u) {
      double of_kept[C::room], dz_of_unit[C::gates], dq_of_unit[C::gates];
      if constexpr (C::kept > 0) read_unit(kept + position * C::kept * s.units, s, u, of_kept);
      cell::UnitState<double> before{step > 0 ? load(y[previous * s.units + u]) : first_h[u]};
      if constexpr (C::has_c)  // kept last
        before.c =
            step > 0 ? load(kept[(previous * C::kept + C::kept - 1) * s.units + u]) : first_c[u];
      if (dy) dh[u] += load(dy[position * s.units + u]);
      cell::UnitState<double> gradient = C::template backward<StdMath>(
          of_kept, load(y[position * s.units + u]), before, {dh[u], dc[u]}, dz_of_unit, dq_of_unit);
      write_unit(dz_of_unit, s, u, c.output(0).as<T>() + position * s.width());
      if (at.dq > 0) write_unit(dq_of_unit, s, u, c.output(at.dq).as<T>() + position * s.width());
      for (int g = 0; g < C::gates; ++g) dq[g * s.units + u] = dq_of_unit[g];
      c.output(1).as<T>()[position * s.units + u] = store<T>(before.h);
      dh[u] = gradient.h;
      dc[u] = gradient.c;
    }
    for (std::int64_t u = 0; u < s.units; ++u)
      for (std::int64_t j = 0; j < s.width(); ++j) dh[u] += dq[j] * load(kernel[u * s.width() + j]);
  }
  clear_padding<T>(c.output(0), s.width(), s, row, length);
  clear_padding<T>(c.output(1), s.units, s, row, length);
  if (at.dq > 0) clear_padding<T>(c.output(at.dq), s.width(), s, row, length);
  if (at.out_dh > 0) write_state(dh, s, row, c.output(at.out_dh).as<T>());
  if (at.out_dc > 0) write_state(dc, s, row, c.output(at.out_dc).as<T>());
}

void reference(const KernelContext& c) {
  const auto& o = c.as<RecurrentGradOptions>();
  RecurrentSizes sizes(c.input(1).shape(), o.recurrent);
  dispatch_recurrent(o.recurrent.cell, c.input(1).dtype(), [&](auto cell, auto t, auto s) {
    for (std::int64_t row = 0; row < sizes.rows; ++row)
      run_row<decltype(cell), decltype(t), decltype(s)>(c, sizes, row);
  });
}

double flops(const Node& node) {
  return 2.0 * node.input(1).shape().elements() * node.input(0).size(1);
}

}  // namespace

const OpDef recurrent_grad_op{
    .name = "recurrent_grad", .shape = shape, .reference = reference, .flops = flops};

}  // namespace belfry
