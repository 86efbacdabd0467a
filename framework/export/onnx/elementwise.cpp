// Ops on elements. They take channels first where their inputs are at hand like that.

#include <numbers>

#include "belfry/framework/export/onnx/converter.h"
#include "belfry/framework/export/op_table.h"
#include "belfry/framework/ops/elementwise/normal_distribution.h"

namespace belfry::onnx {
namespace {

// Gives the op that `make` makes of the inputs, in whichever order of axes they are.
template <class Make>
void each(Converter& c, Make make) {
  std::vector<std::string> inputs;
  if (c.elementwise_channels_first(inputs)) return c.give_channels_first(make(inputs));
  for (int i = 0; i < std::ssize(c.node().inputs); ++i) inputs.push_back(c.input(i));
  c.give(make(inputs));
}

using Inputs = std::vector<std::string>;

void not_equal(Converter& c) {
  each(c, [&](const Inputs& in) { return c.add("Not", {c.add("Equal", in)}); });
}

void expm1(Converter& c) {
  std::string one = c.scalar(1, c.type(0).dtype);
  each(c, [&](const Inputs& in) { return c.add("Sub", {c.add("Exp", in), one}); });
}

void log1p(Converter& c) {
  std::string one = c.scalar(1, c.type(0).dtype);
  each(c, [&](const Inputs& in) { return c.add("Log", {c.add("Add", {in[0], one})}); });
}

void rsqrt(Converter& c) {
  each(c, [&](const Inputs& in) { return c.add("Reciprocal", {c.add("Sqrt", in)}); });
}

void gelu(Converter& c) {
  std::string half = c.scalar(0.5, c.type(0).dtype), one = c.scalar(1, c.type(0).dtype),
              scale = c.scalar(1 / std::numbers::sqrt2, c.type(0).dtype);
  each(c, [&](const Inputs& in) {
    std::string erf = c.add("Erf", {c.add("Mul", {in[0], scale})});
    return c.add("Mul", {in[0], c.add("Mul", {c.add("Add", {erf, one}), half})});
  });
}

void gelu_by_tanh(Converter& c) {
  using Normal = NormalByTanh<double>;
  DType dtype = c.type(0).dtype;
  std::string cubic = c.scalar(Normal::cubic, dtype), one = c.scalar(1, dtype),
              factor = c.scalar(Normal::factor, dtype);
  each(c, [&](const Inputs& in) {
    std::string square = c.add("Mul", {in[0], in[0]});
    std::string inner = c.add("Add", {c.add("Mul", {square, cubic}), one});
    std::string v = c.add("Mul", {c.add("Mul", {in[0], inner}), factor});
    return c.add("Mul", {in[0], c.add("Sigmoid", {v})});
  });
}

void cast(Converter& c) {
  std::int64_t to = data_type(dtype_from_string(c.words("dtype")));
  each(c, [&](const Inputs& in) { return c.add("Cast", in, {{"to", to}}); });
}

// ONNX has no errors in data.
void check_range(Converter& c) { c.give(c.input(0)); }

// ONNX' own random numbers are other ones in each run: here the caller draws them.
void random(Converter& c) { c.give(c.new_input(c.node().op)); }

}  // namespace

Conversions elementwise_conversions() {
  return {{"not_equal", not_equal},
          {"expm1", expm1},
          {"log1p", log1p},
          {"rsqrt", rsqrt},
          {"gelu", gelu},
          {"gelu_by_tanh", gelu_by_tanh},
          {"cast", cast},
          {"check_range", check_range},
          {"random_uniform", random},
          {"random_normal", random},
          {"random_truncated_normal", random}};
}

void same_operator(Converter& c) {
  std::string operation(saved::known_op(c.node().op).op->onnx);
  each(c, [&](const Inputs& in) { return c.add(operation, in); });
}

}  // namespace belfry::onnx
