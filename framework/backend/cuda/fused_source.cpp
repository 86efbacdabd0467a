#include "belfry/framework/backend/cuda/fused_source.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <iomanip>
#include <sstream>
#include <vector>

#include "belfry/framework/backend/cuda/kernels/layout.h"
#include "belfry/framework/base/fields.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/elementwise/elementwise.h"
#include "belfry/framework/ops/elementwise/fused_elementwise.h"

namespace belfry::cuda {
namespace {

static_assert(most_fused_inputs == belfry::most_fused_inputs);

std::string type_name(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "double";
    case DType::f32:
      return "float";
    case DType::bf16:
      return "BFloat16";
    case DType::f16:
      return "Float16";
    case DType::i64:
      return "std::int64_t";
    case DType::i32:
      return "std::int32_t";
    case DType::u8:
      return "std::uint8_t";
    case DType::boolean:
      return "bool";
  }
  no_such_value(dtype);
}

DType computed_as(DType dtype) {
  return dtype == DType::bf16 || dtype == DType::f16 ? DType::f32 : dtype;
}

bool is_functor(const OpDef& op) {
  bool found = false;
  for_each_functor([&](auto functor) { found = found || &functor.op == &op; });
  return found;
}

/// The functor's C++ name: ReluGrad for relu_grad.
std::string functor_name(std::string_view op) {
  std::string name;
  bool upper = true;
  for (char c : op) {
    if (c != '_')
      name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = c == '_';
  }
  return name;
}

/// A number as an expression that has its very bits, NaN's included.
std::string literal(const Array& scalar) {
  return dispatch(scalar.dtype(), [&](auto t) -> std::string {
    using C = compute_type<decltype(t)>;
    auto value = static_cast<C>(scalar.span<decltype(t)>()[0]);
    std::ostringstream out;
    out << std::hex << std::setfill('0');
    if constexpr (std::is_same_v<C, bool>) {
      out << (value ? "true" : "false");
    } else if constexpr (std::is_same_v<C, float>) {
      out << "__builtin_bit_cast(float, 0x" << std::setw(8) << std::bit_cast<std::uint32_t>(value)
          << "u)";
    } else if constexpr (std::is_same_v<C, double>) {
      out << "__builtin_bit_cast(double, 0x" << std::setw(16) << std::bit_cast<std::uint64_t>(value)
          << "ull)";
    } else {
      out << type_name(dtype_of<C>) << "(0x"
          << static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<C>>(value)) << "ull)";
    }
    return out.str();
  });
}

bool divides_whole_numbers(const Node& node) {
  const auto& options = node.as<FusedOptions>();
  return !options.casts && std::any_of(options.program.begin(), options.program.end(), [](auto& i) {
    return i.op == &functor::Div::op;
  }) && std::any_of(node.inputs().begin(), node.inputs().end(), [](const Tensor& t) {
    return !is_floating(t.dtype()) && t.dtype() != DType::boolean;
  });
}

bool has_source(const Node& node) {
  for (const FusedInstruction& i : node.as<FusedOptions>().program)
    if (!is_functor(*i.op)) return false;
  return node.inputs().size() <= most_fused_inputs && node.output().shape.elements() > 0
         && !divides_whole_numbers(node);
}

/// Known when the kernel is compiled: part of its text, and not read.
bool is_number(const Tensor& t) { return t.node().is(constant_op) && t.shape().elements() == 1; }

/// How a kernel goes over its operands.
struct Walk {
  explicit Walk(const Node& node) {
    const Shape& shape = node.output().shape;
    std::int64_t count = shape.elements();
    std::size_t widest = size_of(node.output().dtype);
    std::array<Strides, most_fused_inputs> strides{};
    for (std::size_t n = 0; n < node.inputs().size(); ++n) {
      const Tensor& t = node.inputs()[n];
      std::int64_t elements = t.shape().elements();
      reach.push_back(elements == count ? "whole" : elements == 1 ? "single" : "");
      widest = std::max(widest, size_of(t.dtype()));
      if (!reach.back().empty()) continue;
      strides[n] = broadcast_strides(t.shape(), shape);
      strided = true;
    }
    layout = make_layout<most_fused_inputs>(shape, strides);
    each = std::min(8, 16 / static_cast<int>(widest));
    int inner = layout.rank - 1;
    // A pack lies within one row.
    if (strided && layout.sizes[inner] % each != 0) each = 1;
    for (std::size_t n = 0; n < reach.size(); ++n)
      if (reach[n].empty())
        reach[n] = each == 1 || layout.strides[n][inner] != 0 ? "row" : "repeated";
  }

  std::vector<std::string> reach;  // each input's Reach
  bool strided = false;            // whether any goes by the layout
  int each = 1;                    // elements of a pack
  Layout<most_fused_inputs> layout;
};

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

/// The function of one element, one statement an instruction. What is cast to f32 becomes a float
/// as a parameter.
std::string element_function(const Node& node) {
  const auto& options = node.as<FusedOptions>();
  std::vector<std::string> parameters;
  std::string body;
  int value = 0;
  for (const Tensor& t : node.inputs()) {
    std::string variable =
        concat(type_name(computed_as(type_inside(options, t.dtype()))), " v", value++);
    if (is_number(t)) {
      body += concat("    const ", variable, " = ", literal(t.node().as<ConstantOptions>().value),
                     ";\n");
    } else {
      parameters.push_back(variable);
    }
  }
  for (const FusedInstruction& i : options.program) {
    std::vector<std::string> arguments;
    for (int argument : i.arguments)
      if (argument >= 0) arguments.push_back(concat("v", argument));
    body += concat("    const auto v", value++, " = functor::", functor_name(i.op->name),
                   "::apply<StdMath>(", joined(arguments), ");\n");
  }
  return concat("  __device__ static auto apply(", joined(parameters), ") {\n", body,
                "    return v", value - 1, ";\n  }\n");
}

std::string text_of(const Node& node, const Walk& walk) {
  std::vector<std::string> operands{"Chain"};
  for (std::size_t n = 0; n < node.inputs().size(); ++n) {
    const Tensor& t = node.inputs()[n];
    if (!is_number(t))
      operands.push_back(
          concat("Operand<", n, ", ", type_name(t.dtype()), ", Reach::", walk.reach[n], ">"));
  }
  return concat(
      "#include \"belfry/framework/backend/cuda/kernels/elementwise/fused_chain.h\"\n"
      "\n"
      "namespace belfry::cuda {\n"
      "\n"
      "struct Chain {\n"
      "  using Out = ",
      type_name(node.output().dtype), ";\n  static constexpr int each = ", walk.each,
      ";\n  static constexpr bool strided = ", walk.strided ? "true" : "false", ";\n",
      element_function(node),
      "};\n"
      "\n"
      "extern \"C\" __global__ void fused_chain(FusedArguments a) {\n"
      "  run_chain<",
      joined(operands), ">(a);\n}\n\n}  // namespace belfry::cuda\n");
}

}  // namespace

FusedArguments FusedSource::at(const KernelArguments& addresses) const {
  FusedArguments all = arguments;
  std::copy(addresses.inputs.begin(), addresses.inputs.end(), all.in);
  all.out = addresses.outputs[0];
  return all;
}

std::optional<FusedSource> fused_source(const Node& node) {
  if (!has_source(node)) return std::nullopt;
  Walk walk(node);
  FusedSource source;
  source.text = text_of(node, walk);
  source.arguments.count = node.output().shape.elements();
  source.arguments.layout = walk.layout;
  source.shape = threads_for(source.arguments.count, walk.each);
  return source;
}

}  // namespace belfry::cuda
