#include "belfry/framework/layers/recurrent.h"

#include <algorithm>
#include <utility>

#include "belfry/framework/layers/layer_support.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "belfry/framework/ops/random/random.h"

namespace belfry {
namespace {

constexpr std::int64_t most_units = 1 << 30;

/// Zeros, but for the forget gate of lstm.
Initializer bias_initializer(RecurrentCell cell, const RecurrentLayerOptions& o, DType dtype) {
  if (cell != RecurrentCell::lstm || o.forget_bias == 0 || !o.use_bias) return zeros();
  Array values = Array::zeros({recurrent_gates(cell) * o.units});
  std::fill_n(values.span<float>().data() + o.units, o.units, static_cast<float>(o.forget_bias));
  return given(values.cast(dtype));
}

/// One layer in one direction.
Recurrence one_way(const Scope& s, const Tensor& x, RecurrentCell cell, bool reverse,
                   const RecurrentLayerOptions& o, RecurrentState initial) {
  std::int64_t width = recurrent_gates(cell) * o.units;
  DType dtype = layers::parameter_dtype(s, x);
  RecurrentOperands operands{
      .z = dense(s, x,
                 {.units = width,
                  .use_bias = o.use_bias,
                  .kernel_initializer = o.kernel_initializer,
                  .bias_initializer = bias_initializer(cell, o, dtype)}),
      .kernel = s.variable("recurrent_kernel", {.shape = layers::shape_at(s, {o.units, width}),
                                                .dtype = dtype,
                                                .initializer = o.recurrent_initializer}),
      .initial = initial,
      .lengths = o.lengths};
  if (o.recurrent_bias || (o.use_bias && cell == RecurrentCell::gru))
    operands.bias =
        s.variable("recurrent_bias",
                   {.shape = layers::shape_at(s, {width}), .dtype = dtype, .initializer = zeros()});
  return recurrent(operands, {.cell = cell, .reverse = reverse});
}

/// The layer, as errors name it.
std::string name_of(RecurrentCell cell) {
  bool gates = cell == RecurrentCell::lstm || cell == RecurrentCell::gru;
  return gates ? std::string(to_string(cell)) : "simple_rnn";
}

void check(const Scope& s, std::string_view layer, const Tensor& x,
           const RecurrentLayerOptions& o) {
  require_defined(layer, {x});
  layers::require_at(s, o.units >= 1 && o.units <= most_units, layer, ": units must be 1 to ",
                     most_units, ", got ", o.units);
  layers::require_at(s, o.dropout >= 0 && o.dropout < 1, layer, ": dropout must be in [0, 1), got ",
                     o.dropout);
  layers::require_at(s, o.layers >= 1, layer, ": layers must be at least 1, got ", o.layers);
  layers::require_at(s, x.rank() == 3 && is_floating(x.dtype()), layer,
                     ": x must be floating [n, t, c], got ", x.type());
  std::int64_t states = o.layers * (o.bidirectional ? 2 : 1);
  layers::require_at(s, o.initial.empty() || std::ssize(o.initial) == states, layer,
                     ": initial has ", o.initial.size(), " states; ", states,
                     " are needed, one for each layer and direction");
}

}  // namespace

RecurrentResult recurrent_layers(const Scope& s, Tensor x, RecurrentCell cell,
                                 RecurrentLayerOptions o) {
  check(s, name_of(cell), x, o);
  Graph::PlacementGuard guard(s.graph(), s.placement());
  RecurrentResult result;
  std::size_t state = 0;
  auto run = [&](const Scope& at, const Tensor& in, bool reverse) {
    Recurrence one = one_way(at, in, cell, reverse, o,
                             o.initial.empty() ? RecurrentState() : o.initial[state++]);
    result.states.push_back(one.final);
    return one;
  };
  for (int i = 0; i < o.layers; ++i) {
    Scope at = o.layers == 1 ? s : s / concat("layer", i);
    Tensor in = i == 0 ? x : dropout(at, result.y, {.rate = o.dropout, .training = o.training});
    Recurrence there = run(o.bidirectional ? at / "forward" : at, in, false);
    result.y = there.y;
    result.last = there.final.h;
    if (!o.bidirectional) continue;
    Recurrence back = run(at / "backward", in, true);
    result.y = concat(std::vector{there.y, back.y}, -1);
    result.last = concat(std::vector{there.final.h, back.final.h}, -1);
  }
  return result;
}

RecurrentResult lstm(const Scope& s, Tensor x, RecurrentLayerOptions options) {
  return recurrent_layers(s, x, RecurrentCell::lstm, std::move(options));
}
RecurrentResult gru(const Scope& s, Tensor x, RecurrentLayerOptions options) {
  return recurrent_layers(s, x, RecurrentCell::gru, std::move(options));
}
RecurrentResult simple_rnn(const Scope& s, Tensor x, RecurrentLayerOptions options) {
  return recurrent_layers(s, x, RecurrentCell::tanh, std::move(options));
}

}  // namespace belfry
