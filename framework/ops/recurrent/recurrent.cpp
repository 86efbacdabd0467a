#include "belfry/framework/ops/recurrent/recurrent.h"

#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "belfry/framework/ops/nn.h"
#include "belfry/framework/ops/nn_checks.h"
#include "belfry/framework/ops/recurrent/recurrent_row.h"

namespace belfry {
namespace {

std::vector<TensorType> shape(const ShapeContext& c) {
  const auto& o = c.as<RecurrentNodeOptions>();
  RecurrentIndices at(o);
  const TensorType &z = c.inputs[0], &kernel = c.inputs[1];
  require(c.inputs.size() == at.inputs, c.op, ": expected ", at.inputs, " operands, got ",
          c.inputs.size());
  require_floating(c.op, "z", z);
  require_rank(c.op, "z", z, 3, "[n, t, gates * units]");
  require_rank(c.op, "kernel", kernel, 2, "[units, gates * units]");
  std::int64_t n = z.shape[0], t = z.shape[1], units = kernel.shape[0];
  std::int64_t width = units * recurrent_gates(o.recurrent.cell);
  require(units >= 1, c.op, ": kernel ", kernel, " has no units");
  require_type(c.op, "kernel", kernel, {{units, width}, z.dtype});
  require_type(c.op, "z", z, {{n, t, width}, z.dtype});
  TensorType state{{n, units}, z.dtype};
  if (at.bias > 0) require_type(c.op, "bias", c.inputs[at.bias], {{width}, z.dtype});
  if (at.h > 0) require_type(c.op, "initial h", c.inputs[at.h], state);
  if (at.c > 0) require_type(c.op, "initial c", c.inputs[at.c], state);
  if (at.lengths > 0) require_type(c.op, "lengths", c.inputs[at.lengths], {{n}, DType::i64});
  std::vector<TensorType> outputs{{{n, t, units}, z.dtype}, state};
  if (at.out_c > 0) outputs.push_back(state);
  std::int64_t kept = RecurrentSizes(outputs[0].shape, o.recurrent).kept;
  if (at.kept > 0) outputs.push_back({{n, t, kept * units}, statistics_type(z.dtype)});
  return outputs;
}

// The gradients of kernel and bias are products and sums over all steps at once.
std::vector<Tensor> gradient(const GradContext& c) {
  const auto& o = c.as<RecurrentNodeOptions>();
  RecurrentIndices at(o);
  RecurrentGradOptions options{
      .recurrent = o.recurrent, .initial = o.initial, .lengths = o.lengths};
  std::vector<Tensor> inputs{c.input(1), c.output(0)}, grads(c.input_count());
  auto add = [&](const Tensor& t) {
    if (t.defined()) inputs.push_back(t);
    return t.defined();
  };
  if (at.kept > 0) add(c.output(at.kept));
  for (int input : {at.h, at.c, at.lengths})
    if (input > 0) add(c.input(input));
  options.dy = add(c.dy(0));
  options.dh = add(c.dy(1));
  options.dc = at.out_c > 0 && add(c.dy(at.out_c));
  RecurrentGradIndices out(options);
  Node& node = apply(recurrent_grad_op, inputs, options);
  grads[0] = Tensor(node, 0);
  Tensor before(node, 1), dq = out.dq > 0 ? Tensor(node, out.dq) : grads[0];
  std::int64_t positions = before.size(0) * before.size(1);
  grads[1] = matmul(reshape(before, {positions, before.size(2)}),
                    reshape(dq, {positions, dq.size(2)}), {.transpose_a = true});
  if (at.bias > 0) grads[at.bias] = sum(dq, {.axes = {0, 1}});
  if (at.h > 0) grads[at.h] = Tensor(node, out.out_dh);
  if (at.c > 0) grads[at.c] = Tensor(node, out.out_dc);
  return grads;
}

template <class C, class T, class S>
void run_row(const KernelContext& c, const RecurrentSizes& s, std::int64_t row) {
  RecurrentIndices at(c.as<RecurrentNodeOptions>());
  auto in = [&](int i) { return i > 0 ? c.input(i).as<T>() : nullptr; };
  const T *kernel = in(1), *bias = in(at.bias);
  std::vector<double> h = state_of_row(in(at.h), s, row),
                      cell_state = state_of_row(in(at.c), s, row), q(s.width());
  std::int64_t length = row_length(c, at.lengths, s, row);
  for (std::int64_t step = 0; step < length; ++step) {
    std::int64_t position = row * s.steps + s.position(step, length);
    for (std::int64_t j = 0; j < s.width(); ++j) {
      q[j] = bias ? load(bias[j]) : 0;
      for (std::int64_t u = 0; u < s.units; ++u) q[j] += h[u] * load(kernel[u * s.width() + j]);
    }
    for (std::int64_t u = 0; u < s.units; ++u) {
      double of_z[C::gates], of_q[C::gates], kept[C::room];
      read_unit(c.input(0).as<T>() + position * s.width(), s, u, of_z);
      read_unit(q.data(), s, u, of_q);
      cell::UnitState<double> after =
          C::template forward<StdMath>(of_z, of_q, {h[u], cell_state[u]}, kept);
      for (int k = 0; k < C::kept; ++k)
        c.output(at.kept).as<S>()[(position * C::kept + k) * s.units + u] = static_cast<S>(kept[k]);
      h[u] = after.h;
      cell_state[u] = after.c;
      c.output(0).as<T>()[position * s.units + u] = store<T>(after.h);
    }
  }
  clear_padding<T>(c.output(0), s.units, s, row, length);
  if (at.kept > 0) clear_padding<S>(c.output(at.kept), C::kept * s.units, s, row, length);
  write_state(h, s, row, c.output(1).as<T>());
  if (at.out_c > 0) write_state(cell_state, s, row, c.output(at.out_c).as<T>());
}

void reference(const KernelContext& c) {
  const auto& o = c.as<RecurrentNodeOptions>();
  RecurrentSizes sizes(c.output(0).shape(), o.recurrent);
  RecurrentIndices at(o);
  check_recurrent_lengths(at.lengths > 0 ? c.input(at.lengths).as<std::int64_t>() : nullptr, sizes);
  dispatch_recurrent(o.recurrent.cell, c.input(0).dtype(), [&](auto cell, auto t, auto s) {
    for (std::int64_t row = 0; row < sizes.rows; ++row)
      run_row<decltype(cell), decltype(t), decltype(s)>(c, sizes, row);
  });
}

// The products with the kernel: what a cell does besides is little.
double flops(const Node& node) {
  return 2.0 * node.output(0).shape.elements() * node.input(1).size(1);
}

}  // namespace

const OpDef recurrent_op{.name = "recurrent",
                         .shape = shape,
                         .gradient = gradient,
                         .reference = reference,
                         .autocast = Autocast::low,
                         .flops = flops};

Recurrence recurrent(const RecurrentOperands& operands, RecurrentOptions options) {
  constexpr std::string_view name = "recurrent";
  const Tensor &z = operands.z, &kernel = operands.kernel, &bias = operands.bias,
               &lengths = operands.lengths;
  const RecurrentState& initial = operands.initial;
  require_defined(name, {z, kernel});
  RecurrentNodeOptions o{.recurrent = options,
                         .bias = bias.defined(),
                         .initial = initial.h.defined(),
                         .lengths = lengths.defined()};
  check_at(z, [&] {
    bool lstm = options.cell == RecurrentCell::lstm;
    require(initial.c.defined() == (lstm && o.initial), name, ": the initial state of ",
            to_string(options.cell), " is ", lstm ? "h and c" : "h alone", ", got ",
            o.initial ? "h" : "no h", initial.c.defined() ? " with c" : " without c");
    require(!o.lengths || lengths.dtype() == DType::i32 || lengths.dtype() == DType::i64, name,
            ": lengths must be i32 or i64; cast them");
  });
  std::vector<Tensor> inputs{z, kernel};
  for (const Tensor& t : {bias, initial.h, initial.c})
    if (t.defined()) inputs.push_back(t);
  if (o.lengths) inputs.push_back(cast(lengths, DType::i64));
  Node& node = apply(recurrent_op, inputs, o);
  RecurrentIndices at(o);
  return {Tensor(node, 0), {Tensor(node, 1), at.out_c > 0 ? Tensor(node, at.out_c) : Tensor()}};
}

}  // namespace belfry
