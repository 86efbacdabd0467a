// Chains of elementwise ops as a program that every thread goes through: for where NVRTC does not
// make each a kernel of its own (fused_source.h).

#include <algorithm>
#include <optional>

#include "belfry/framework/backend/cuda/kernels/elementwise/elementwise.h"
#include "belfry/framework/ops/elementwise/fused_elementwise.h"

namespace belfry::cuda {
namespace {

constexpr int most_inputs = most_fused_inputs, most_values = most_inputs + most_fused_instructions;

/// A FusedInstruction with its functor's place in Functors.
struct Code {
  std::uint8_t functor;
  std::uint8_t arguments[3];
};

template <int Inputs>
struct Program {
  Addresses<Inputs> in;
  DType type[Inputs];  // bool, one that is cast to f32, or that of all
  Code code[most_values];
  int inputs, length;
};

template <class F, class C>
__device__ C apply_functor(const C* values, const std::uint8_t* arguments) {
  C a = values[arguments[0]], b = values[arguments[1]], c = values[arguments[2]];
  if constexpr (F::domain == Domain::boolean) {
    if constexpr (F::arity == 1) return C(F::template apply<StdMath>(a != C(0)));
    if constexpr (F::arity == 2) return C(F::template apply<StdMath>(a != C(0), b != C(0)));
  } else if constexpr (!belfry::detail::in_domain_of<C>(F::domain)) {
    return C(0);  // no program on C has it
  } else if constexpr (F::arity == 1) {
    return C(F::template apply<StdMath>(a));
  } else if constexpr (F::arity == 2) {
    return C(F::template apply<StdMath>(a, b));
  } else {
    return C(F::template apply<StdMath>(a != C(0), b, c));
  }
}

template <class C, std::size_t... I>
__device__ C interpret(const Code& code, const C* values, std::index_sequence<I...>) {
  C result = C(0);
  (void)((code.functor == I
          && (result = apply_functor<std::tuple_element_t<I, Functors>>(values, code.arguments),
              true))
         || ...);
  return result;
}

// As a C; what is bool is 0 or 1.
template <class T>
__device__ compute_type<T> load_input(const void* from, DType type, std::int64_t i) {
  using C = compute_type<T>;
  if (type == DType::boolean) return C(static_cast<const bool*>(from)[i]);
  if constexpr (std::is_same_v<T, float>) {
    if (type == DType::u8) return C(static_cast<const std::uint8_t*>(from)[i]);
    if (type == DType::bf16) return load(static_cast<const BFloat16*>(from) + i);
    if (type == DType::f16) return load(static_cast<const Float16*>(from) + i);
  }
  return load(static_cast<const T*>(from) + i);
}

template <class T, class Out>
__global__ void run_program(Program<most_inputs> program, Layout<most_inputs> layout, Out* out,
                            std::int64_t count) {
  using C = compute_type<T>;
  std::int64_t i = thread_number();
  if (i >= count) return;
  std::int64_t at[most_inputs];
  layout.offsets(i, at);
  C values[most_values];
  for (int n = 0; n < program.inputs; ++n)
    values[n] = load_input<T>(program.in.at[n], program.type[n], at[n]);
  constexpr auto functors = std::make_index_sequence<std::tuple_size_v<Functors>>();
  for (int n = 0; n < program.length; ++n)
    values[program.inputs + n] = interpret(program.code[n], values, functors);
  C result = values[program.inputs + program.length - 1];
  if constexpr (std::is_same_v<Out, bool>) {
    out[i] = result != C(0);
  } else {
    store(out + i, result);
  }
}

/// The place of the op's functor in Functors; -1 when there is none.
int number_of(const OpDef& op) {
  int number = -1, at = 0;
  for_each_functor([&](auto functor) {
    if (&functor.op == &op) number = at;
    ++at;
  });
  return number;
}

/// The one type of all operands that are not bool; bool when there are none. Null when they differ.
std::optional<DType> type_of(const Node& node) {
  if (node.as<FusedOptions>().casts) return DType::f32;
  DType type = DType::boolean;
  auto same = [&](DType other) {
    if (other == DType::boolean) return true;
    if (type == DType::boolean) type = other;
    return type == other;
  };
  if (!same(node.output().dtype)) return {};
  for (const Tensor& t : node.inputs())
    if (!same(t.dtype())) return {};
  return type;
}

template <class T>
std::unique_ptr<Kernel> program_kernel(const Node& node, const Program<most_inputs>& program) {
  const Shape& shape = node.output().shape;
  std::array<Strides, most_inputs> strides{};
  for (std::size_t i = 0; i < node.inputs().size(); ++i)
    strides[i] = broadcast_strides(node.inputs()[i].shape(), shape);
  Layout<most_inputs> layout = make_layout<most_inputs>(shape, strides);
  DType result = node.output().dtype;
  std::int64_t count = shape.elements();
  return make_kernel([=](const KernelArguments& a, Stream& stream) {
    Program<most_inputs> p = program;
    std::copy(a.inputs.begin(), a.inputs.end(), p.in.at);
    auto run = [&](auto out) {
      using Out = decltype(out);
      launch(stream, threads_for(count), run_program<T, Out>, p, layout, a.output<Out>(0), count);
    };
    if (result == DType::boolean) return run(bool{});
    if constexpr (std::is_same_v<T, float>) {
      if (result == DType::bf16) return run(BFloat16{});
      if (result == DType::f16) return run(Float16{});
    }
    run(T{});
  });
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  const auto& chain = node.as<FusedOptions>().program;
  std::optional<DType> type = type_of(node);
  if (!type || node.inputs().size() > most_inputs
      || node.inputs().size() + chain.size() > most_values)
    return nullptr;
  Program<most_inputs> program{};
  program.inputs = static_cast<int>(node.inputs().size());
  program.length = static_cast<int>(chain.size());
  for (std::size_t i = 0; i < node.inputs().size(); ++i)
    program.type[i] = node.inputs()[i].dtype();
  for (std::size_t i = 0; i < chain.size(); ++i) {
    int number = number_of(*chain[i].op);
    if (number < 0) return nullptr;
    // No division by zero among whole numbers: it would have to be found.
    if (chain[i].op == &functor::Div::op && !is_floating(*type)) return nullptr;
    program.code[i].functor = static_cast<std::uint8_t>(number);
    for (std::size_t k = 0; k < 3; ++k)
      program.code[i].arguments[k] = static_cast<std::uint8_t>(std::max(0, chain[i].arguments[k]));
  }
  return dispatch(*type, [&](auto t) -> std::unique_ptr<Kernel> {
    if constexpr (std::is_same_v<decltype(t), bool>) {
      return program_kernel<std::uint8_t>(node, program);
    } else {
      return program_kernel<decltype(t)>(node, program);
    }
  });
}

const KernelRegistration registration(fused_elementwise_op, make);

}  // namespace
}  // namespace belfry::cuda
