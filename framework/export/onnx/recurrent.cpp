// Recurrences and attention.

#include <algorithm>

#include "belfry/framework/export/onnx/converter.h"
#include "belfry/framework/tensor/array.h"

namespace belfry::onnx {
namespace {

/// An operator of ONNX for a cell; gate i of it is gate order[i] of ours.
struct Operator {
  std::string name, activation;
  std::vector<std::int64_t> order;
};
Operator operator_of(const std::string& cell) {
  if (cell == "lstm") return {"LSTM", "", {0, 3, 1, 2}};
  if (cell == "gru") return {"GRU", "", {0, 1, 2}};
  return {"RNN", cell == "tanh" ? "Tanh" : "Relu", {0}};
}

/// Weights [rows, gates units], or a bias of one row, as ONNX has them: [1, gates units, rows],
/// gates in its order.
Array onnx_weights(const Array& ours, const std::vector<std::int64_t>& order) {
  std::int64_t gates = order.size(), rows = ours.shape().rank() == 2 ? ours.shape()[0] : 1,
               width = ours.elements() / rows, units = width / gates;
  Array out(Shape{1, width, rows}, DType::f32);
  float* to = out.span<float>().data();
  for (std::int64_t gate : order)
    for (std::int64_t u = 0; u < units; ++u)
      for (std::int64_t row = 0; row < rows; ++row)
        *to++ = static_cast<float>(ours.at(row * width + gate * units + u));
  return out;
}

/// z is what the products with W are, so that W takes each of them to its gate.
Array identity(std::int64_t width) {
  Array out = Array::zeros({width, width});
  for (std::int64_t i = 0; i < width; ++i) out.span<float>()[i * width + i] = 1;
  return out;
}

// (z, kernel, [bias], [h, [c]], [lengths]) -> (y, h, [c], [kept])
void recurrent(Converter& c) {
  Operator op = operator_of(c.words("cell"));
  bool lstm = op.name == "LSTM";
  std::int64_t width = c.type(0).sizes[2].fixed, units = width / std::ssize(op.order);
  DType dtype = c.type(0).dtype;
  if (dtype == DType::bf16) c.unsupported("it has none of bf16");
  const Array* kernel = c.constant_input(1);
  if (!kernel) c.unsupported("its kernel depends on the input");
  int next = 2;
  std::string bias, lengths, h, cell;
  if (c.flag("bias")) {
    const Array* ours = c.constant_input(next++);
    if (!ours) c.unsupported("its bias depends on the input");
    Array both = Array::zeros({1, 2 * width}), of_state = onnx_weights(*ours, op.order);
    std::ranges::copy(of_state.span<float>(), both.span<float>().begin() + width);
    bias = c.constant(both.cast(dtype), "bias");
  }
  auto state = [&] { return c.add("Unsqueeze", {c.input(next++), c.list({0})}); };
  if (c.flag("initial")) h = state();
  if (c.flag("initial") && lstm) cell = state();
  std::string none;  // whether a row has no step
  if (c.flag("lengths")) {
    std::string counts = c.input(next++);
    lengths = c.add("Cast", {counts}, {{"to", data_type(DType::i32)}});
    none = c.add("Unsqueeze", {c.add("Equal", {counts, c.scalar(0, DType::i64)}), c.list({0, 2})});
  }
  std::vector<std::string> inputs{
      c.transposed(c.input(0), {1, 0, 2}),
      c.constant(onnx_weights(identity(width), op.order).cast(dtype), "identity"),
      c.constant(onnx_weights(*kernel, op.order).cast(dtype), "kernel"),
      bias,
      lengths,
      h,
      cell};
  while (inputs.back().empty()) inputs.pop_back();
  Attributes attributes{{"hidden_size", units},
                        {"direction", std::string(c.flag("reverse") ? "reverse" : "forward")}};
  if (op.name == "GRU") attributes.emplace_back("linear_before_reset", std::int64_t{1});
  if (!op.activation.empty()) attributes.emplace_back("activations", Words{op.activation});
  std::vector<std::string> outputs = c.add_several(op.name, inputs, attributes, lstm ? 3 : 2);
  std::string y = c.add("Squeeze", {outputs[0], c.list({1})});  // [t, 1, n, units]
  c.give(c.transposed(y, {1, 0, 2}), 0);
  // ONNX does not say what the last state of a row without steps is.
  for (int i = 1; i < std::ssize(outputs); ++i) {
    std::string first = i == 1 ? h : cell, last = outputs[i];
    if (!none.empty())
      last = c.add("Where", {none, first.empty() ? c.scalar(0, dtype) : first, last});
    c.give(c.add("Squeeze", {last, c.list({0})}), i);
  }
}

/// Whether a key counts for a query by their places alone: bool [tq, tk].
std::string band(Converter& c, const Extent& tq, const std::string& keys, const Extent& tk,
                 bool causal, std::int64_t window) {
  Extent ahead{tk.fixed - tq.fixed, tk.per_row - tq.per_row, tk.per_step - tq.per_step,
               tk.per_row_and_step - tq.per_row_and_step};
  std::string queries = c.add("Unsqueeze", {c.numbers(tq), c.list({1})});
  if (ahead != Extent{}) queries = c.add("Add", {queries, c.sizes({ahead})});
  std::string away = c.add("Sub", {keys, queries}), inside;
  if (causal) inside = c.add("LessOrEqual", {away, c.scalar(0, DType::i64)});
  if (window > 0) {
    std::string near = c.add("Less", {c.add("Abs", {away}), c.scalar(window, DType::i64)});
    inside = causal ? c.add("And", {inside, near}) : near;
  }
  return inside;
}

/// Keys or values [n, t, kv_heads, d] as [n, heads, t, d] or, for products with queries,
/// [n, heads, d, t].
std::string in_heads(Converter& c, int input, std::int64_t heads,
                     const std::vector<std::int64_t>& order) {
  std::string x = c.transposed(c.input(input), order);
  std::int64_t kv_heads = c.type(input).sizes[2].fixed;
  if (kv_heads == heads) return x;
  Array shared(Shape{heads}, DType::i64);
  for (std::int64_t i = 0; i < heads; ++i) shared.span<std::int64_t>()[i] = i / (heads / kv_heads);
  return c.add("Gather", {x, c.constant(shared)}, {{"axis", std::int64_t{1}}});
}

// (q, k, v, [mask], [lengths], [key ranges]) -> (y, logs of sums)
void dot_product_attention(Converter& c) {
  if (c.is_used(1)) c.unsupported("its sums are read");
  if (c.number("dropout") > 0) c.unsupported("it has dropout");
  const Extent tq = c.type(0).sizes[1], tk = c.type(1).sizes[1];
  std::int64_t heads = c.type(0).sizes[2].fixed;
  DType dtype = c.type(0).dtype;
  std::string q =
      c.add("Mul", {c.transposed(c.input(0), {0, 2, 1, 3}), c.scalar(c.number("scale"), dtype)});
  std::string scores = c.add("MatMul", {q, in_heads(c, 1, heads, {0, 2, 3, 1})});
  std::string counts;
  auto require_too = [&](const std::string& condition) {
    counts = counts.empty() ? condition : c.add("And", {counts, condition});
  };
  int next = 3;
  bool causal = c.flag("causal");
  std::int64_t window = c.whole("window");
  std::string keys;
  if (causal || window > 0 || c.flag("lengths") || c.flag("key_ranges")) keys = c.numbers(tk);
  if (causal || window > 0) require_too(band(c, tq, keys, tk, causal, window));
  if (c.flag("mask")) require_too(c.input(next++));
  if (c.flag("lengths")) {
    std::string lengths = c.add("Unsqueeze", {c.input(next++), c.list({1, 2, 3})});
    require_too(c.add("Less", {keys, lengths}));
  }
  if (c.flag("key_ranges")) {
    std::string ranges = c.add("Unsqueeze", {c.input(next++), c.list({1})});
    auto end_of = [&](std::int64_t which) {
      return c.add("Slice", {ranges, c.list({which}), c.list({which + 1}), c.list({3})});
    };
    require_too(c.add("Not", {c.add("Less", {keys, end_of(0)})}));
    require_too(c.add("Less", {keys, end_of(1)}));
  }
  // A query for which no key counts has equal scores, and its weights are taken away behind
  // softmax.
  if (!counts.empty()) scores = c.add("Where", {counts, scores, c.scalar(-1e30, dtype)});
  std::string weights = c.add("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  if (!counts.empty()) weights = c.add("Where", {counts, weights, c.scalar(0, dtype)});
  c.give(
      c.transposed(c.add("MatMul", {weights, in_heads(c, 2, heads, {0, 2, 1, 3})}), {0, 2, 1, 3}));
}

}  // namespace

Conversions recurrent_conversions() {
  return {{"recurrent", recurrent}, {"dot_product_attention", dot_product_attention}};
}

}  // namespace belfry::onnx
