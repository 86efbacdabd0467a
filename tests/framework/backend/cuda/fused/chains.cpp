#include "chains.h"

#include <limits>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise/elementwise.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry::cuda {
namespace {

FusedInstruction call(const OpDef& op, int a, int b = -1, int c = -1) { return {&op, {a, b, c}}; }

/// Numbers in [-3, 3); whole ones from -3 to 2 for whole types. Among the first of floats are NaN,
/// an infinity and -0.
Array numbers(const Shape& shape, DType dtype, std::uint64_t seed) {
  Array values(shape, DType::f64);
  PhiloxStream random(philox_key(seed, static_cast<std::uint64_t>(shape.elements())));
  for (double& x : values.span<double>()) x = -3 + 6 * random.uniform_double();
  if (dtype == DType::u8 || dtype == DType::boolean)
    for (double& x : values.span<double>()) x = x < 0 ? 0 : dtype == DType::u8 ? x + 200 : 1;
  if (is_floating(dtype) && shape.elements() > 8) {
    auto special = values.span<double>().subspan(seed % 4);
    special[0] = std::numeric_limits<double>::quiet_NaN();
    special[1] = -0.0;
    special[2] = -std::numeric_limits<double>::infinity();
  }
  return values.cast(dtype);
}

ChainInput data(const Shape& shape, DType dtype, std::uint64_t seed = 1) {
  return {{shape, dtype}, false, numbers(shape, dtype, seed)};
}
template <class T>
ChainInput number(T value) {
  Array scalar = Array::scalar(value);
  return {scalar.type(), true, scalar};
}
ChainInput number(double value, DType dtype) {
  Array scalar = Array::scalar(value).cast(dtype);
  return {scalar.type(), true, scalar};
}

/// One functor by itself, on f32, or bool where it takes nothing else.
template <class F>
ChainCase alone() {
  DType dtype = F::domain == Domain::boolean ? DType::boolean : DType::f32;
  ChainCase chain{concat("f32_", F::name), {}, {{&F::op, {-1, -1, -1}}}};
  for (int n = 0; n < F::arity; ++n) {
    bool selects = std::is_same_v<F, functor::Where> && n == 0;
    chain.inputs.push_back(
        data({67}, selects ? DType::boolean : dtype, static_cast<std::uint64_t>(n + 1)));
    chain.program[0].arguments[static_cast<std::size_t>(n)] = n;
  }
  return chain;
}

/// (x * row + column) clamped by a number, and selected where it is below x.
ChainCase typed(DType dtype, const Shape& x, const Shape& row, const Shape& column) {
  return {concat(to_string(dtype), "_", x.elements(), "_", row.elements(), "_", column.elements()),
          {data(x, dtype), data(row, dtype, 2), data(column, dtype, 3), number(1.5, dtype)},
          {call(functor::Mul::op, 0, 1), call(functor::Add::op, 4, 2),
           call(functor::Minimum::op, 5, 3), call(functor::Abs::op, 6),
           call(functor::Less::op, 7, 0), call(functor::Where::op, 8, 7, 0)}};
}

void add_types(std::vector<ChainCase>& all) {
  for (DType dtype :
       {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64, DType::i32, DType::u8}) {
    all.push_back(typed(dtype, {7, 5, 40}, {40}, {5, 1}));
    ChainCase compares = typed(dtype, {3, 700}, {}, {3, 700});
    compares.name += "_bool";
    compares.program.pop_back();
    compares.program.back() = call(functor::NotEqual::op, 7, 0);
    all.push_back(compares);
  }
}

void add_places(std::vector<ChainCase>& all) {
  DType f32 = DType::f32;
  all.push_back(typed(f32, {3, 3, 37}, {37}, {3, 1}));  // packs would lie over two rows
  all.push_back(typed(f32, {}, {}, {}));
  all.push_back(typed(f32, {5, 4, 33}, {5, 1, 33}, {4, 1}));
  all.push_back(typed(f32, {2, 3, 4, 5, 8}, {2, 1, 4, 1, 8}, {3, 1, 5, 1}));
  all.push_back(typed(DType::bf16, {11, 1, 24}, {11, 1, 1}, {24}));
  all.push_back({"no_whole_operand",
                 {data({6, 1}, f32), data({32}, f32, 2)},
                 {call(functor::Sub::op, 0, 1), call(functor::Tanh::op, 2)}});
  all.push_back({"booleans",
                 {data({9, 16}, DType::boolean), data({16}, DType::boolean, 2),
                  data({9, 1}, DType::boolean, 3)},
                 {call(functor::LogicalAnd::op, 0, 1), call(functor::LogicalOr::op, 3, 2),
                  call(functor::LogicalNot::op, 4), call(functor::Equal::op, 5, 0),
                  call(functor::Where::op, 6, 1, 5)}});
  all.push_back({"selects_by_data",
                 {data({9, 16}, DType::boolean), data({16}, DType::f16, 2), data({}, DType::f16)},
                 {call(functor::Where::op, 0, 1, 2), call(functor::Neg::op, 3)}});
}

void add_numbers(std::vector<ChainCase>& all) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  int n = 0;
  for (float value : {nan, infinity, -infinity, -0.0f, 0x1.p-149f, 0.1f})
    all.push_back({concat("f32_number_", n++),
                   {data({67}, DType::f32), number(value)},
                   {call(functor::Equal::op, 0, 0), call(functor::Where::op, 2, 1, 0)}});
  all.push_back({"f64_number",
                 {data({67}, DType::f64), number(0.1), number(5e-324)},
                 {call(functor::Greater::op, 0, 1), call(functor::Where::op, 3, 1, 2)}});
  all.push_back({"f16_number",
                 {data({67}, DType::f16), number(0.1, DType::f16), number(-0.0, DType::f16)},
                 {call(functor::Greater::op, 0, 1), call(functor::Where::op, 3, 1, 2)}});
  all.push_back({"i64_number",
                 {data({67}, DType::i64), number(std::numeric_limits<std::int64_t>::min())},
                 {call(functor::Add::op, 0, 1), call(functor::Mul::op, 2, 0)}});
  all.push_back({"i32_number",
                 {data({67}, DType::i32), number(std::int32_t{-1})},
                 {call(functor::Mul::op, 0, 1), call(functor::Sub::op, 2, 0)}});
  all.push_back({"bool_number",
                 {data({67}, DType::boolean), number(true)},
                 {call(functor::Equal::op, 0, 1), call(functor::LogicalNot::op, 2)}});
}

// An image that is scaled; gradients that are; and what a condition chooses from two types.
void add_casts(std::vector<ChainCase>& all) {
  for (DType result : {DType::f32, DType::bf16, DType::f16}) {
    all.push_back({concat("bytes_to_", to_string(result)),
                   {data({5, 67}, DType::u8), number(1 / 255.0f), data({67}, DType::f32, 2)},
                   {call(functor::Mul::op, 0, 1), call(functor::Sub::op, 3, 2)},
                   true,
                   result});
    all.push_back({concat("16_bits_to_", to_string(result)),
                   {data({9, 16}, DType::bf16), data({16}, DType::f16, 2),
                    data({9, 1}, DType::boolean, 3), data({9, 16}, DType::f32, 4)},
                   {call(functor::Div::op, 0, 1), call(functor::Where::op, 2, 4, 3)},
                   true,
                   result});
  }
  all.push_back({"bytes_to_bool",
                 {data({67}, DType::u8), number(230.0f)},
                 {call(functor::Less::op, 0, 1)},
                 true,
                 DType::boolean});
}

TensorType widened(const TensorType& type) {
  return {type.shape,
          type.dtype == DType::bf16 || type.dtype == DType::f16 ? DType::f32 : type.dtype};
}

}  // namespace

ChainCase ChainCase::in_f32() const {
  ChainCase wide = *this;
  wide.result = DType::f32;
  for (ChainInput& input : wide.inputs) {
    input.type = widened(input.type);
    input.value = input.value.cast(input.type.dtype);
  }
  return wide;
}

const std::vector<ChainCase>& chain_cases() {
  static const std::vector<ChainCase> all = [] {
    std::vector<ChainCase> made;
    for_each_functor([&](auto functor) { made.push_back(alone<decltype(functor)>()); });
    add_types(made);
    add_places(made);
    add_numbers(made);
    add_casts(made);
    return made;
  }();
  return all;
}

Node& build(Graph& graph, const ChainCase& chain) {
  std::vector<Tensor> inputs;
  for (const ChainInput& from : chain.inputs)
    inputs.push_back(from.constant ? constant(graph, from.value)
                                   : input(graph, concat("x", inputs.size()), from.type));
  return fused_elementwise(inputs, {chain.program, chain.casts, chain.result}).node();
}

}  // namespace belfry::cuda
