// Reductions, products of matrices, and what works along an axis.

#include <numeric>

#include "belfry/framework/export/onnx/converter.h"
#include "belfry/framework/tensor/array.h"

namespace belfry::onnx {
namespace {

void sum(Converter& c) {
  std::vector<std::int64_t> axes = c.wholes("axes");
  if (axes.empty()) return c.give(c.input(0));
  c.give(c.add("ReduceSum", {c.input(0), c.list(axes)},
               {{"keepdims", std::int64_t{c.flag("keep_dims")}}}));
}

// In opset 17 these have the axes as an attribute.
void reduce(Converter& c) {
  std::vector<std::int64_t> axes = c.wholes("axes");
  if (axes.empty()) return c.give(c.input(0));
  const std::string& op = c.node().op;
  c.give(c.add(op == "max"   ? "ReduceMax"
               : op == "min" ? "ReduceMin"
                             : "ReduceProd",
               {c.input(0)}, {{"axes", axes}, {"keepdims", std::int64_t{c.flag("keep_dims")}}}));
}

void arg(Converter& c) {
  c.give(c.add(c.node().op == "argmax" ? "ArgMax" : "ArgMin", {c.input(0)},
               {{"axis", c.whole("axis")}, {"keepdims", std::int64_t{0}}}));
}

void softmax(Converter& c) {
  c.give(c.add(c.node().op == "softmax" ? "Softmax" : "LogSoftmax", {c.input(0)},
               {{"axis", c.whole("axis")}}));
}

std::string matrix(Converter& c, int input, bool transposed) {
  if (!transposed) return c.input(input);
  std::vector<std::int64_t> order(c.rank(input));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  if (const Array* known = c.constant_input(input)) return c.constant(permute(*known, order));
  return c.transposed(c.input(input), order);
}

// The product of weights [.., in, out] and the factors of the outputs.
std::string scaled(Converter& c, const Array& weights, const std::vector<double>& factor) {
  Array products = weights.clone();
  std::size_t i = 0;
  for (float& value : products.span<float>())
    value = static_cast<float>(double{value} * factor[i++ % factor.size()]);
  return c.constant(products, "kernel");
}

// Terms alone stay as they are: folded they would be an Add again.
void matmul(Converter& c) {
  bool transpose_b = c.flag("transpose_b");
  std::string a = matrix(c, 0, c.flag("transpose_a"));
  const Array* weights = c.constant_input(1);
  Converter::Affine affine;
  if (weights && weights->dtype() == DType::f32 && !transpose_b)
    affine = c.affine_behind(c.node().outputs[0].sizes.back().fixed);
  if (!affine.has_factor) return c.give(c.add("MatMul", {a, matrix(c, 1, transpose_b)}));
  c.fold(affine);
  std::string product = c.add("MatMul", {a, scaled(c, *weights, affine.factor)});
  c.give(affine.has_term ? c.add("Add", {product, c.bias(affine)}) : product);
}

void layer_norm(Converter& c) {
  if (c.is_used(1) || c.is_used(2)) c.unsupported("its statistics are read");
  c.give(c.add("LayerNormalization", {c.input(0), c.input(1), c.input(2)},
               {{"axis", std::int64_t{-1}}, {"epsilon", static_cast<float>(c.number("epsilon"))}}));
}

}  // namespace

Conversions reduction_conversions() {
  return {
      {"sum", sum},       {"max", reduce},           {"min", reduce},      {"prod", reduce},
      {"argmax", arg},    {"argmin", arg},           {"softmax", softmax}, {"log_softmax", softmax},
      {"matmul", matmul}, {"layer_norm", layer_norm}};
}

}  // namespace belfry::onnx
