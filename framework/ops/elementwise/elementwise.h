#pragma once
// The common part of elementwise ops: an OpDef made from a functor.

#include <array>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "belfry/framework/graph/graph.h"
#include "belfry/framework/ops/elementwise/functors.h"
#include "belfry/framework/ops/elementwise/strided_walk.h"

namespace belfry {

bool in_domain(DType dtype, Domain domain);

/// Broadcasts all inputs, which must have one dtype that is in `domain`; the result has that dtype.
/// The first input of `where` is bool and takes part in the shape only.
std::vector<TensorType> elementwise_type(const ShapeContext& c, Domain domain);
/// The same with a bool result.
std::vector<TensorType> comparison_type(const ShapeContext& c, Domain domain);

/// All inputs: the result may take over the memory of any that has its type.
std::vector<int> any_input(const Node& node);

/// The type of operand I of functor F on T.
template <class F, class T, std::size_t I>
using OperandOf = std::conditional_t<std::is_same_v<F, functor::Where> && I == 0, bool, T>;

/// The type of F's result for operands of T. It is asked of the functor: nvcc hides from the host
/// what functions of a device return by `auto`.
template <class F, class T, std::size_t... I>
auto result_of(std::index_sequence<I...>)
    -> decltype(F::template apply<StdMath>(compute_type<OperandOf<F, T, I>>()...));

/// Whether F gives bool whatever it takes: comparisons and logic.
template <class F>
constexpr bool gives_bool =
    std::is_same_v<decltype(result_of<F, float>(std::make_index_sequence<F::arity>())), bool>;

namespace detail {

template <class T>
constexpr bool in_domain_of(Domain domain) {
  bool floating = std::is_floating_point_v<compute_type<T>>;
  bool boolean = std::is_same_v<T, bool>;
  switch (domain) {
    case Domain::floating:
      return floating;
    case Domain::number:
      return !boolean;
    case Domain::any:
      return true;
    case Domain::boolean:
      return boolean;
  }
  return false;
}

template <class T>
compute_type<T> load(const ArrayView& view, std::int64_t i) {
  return static_cast<compute_type<T>>(view.as<const T>()[i]);
}

template <class F, class T, std::size_t... I>
void elementwise_loop(const KernelContext& c, std::index_sequence<I...>) {
  const Shape& shape = c.output().shape();
  auto value = [&](const std::array<std::int64_t, sizeof...(I)>& at) {
    return F::template apply<StdMath>(load<OperandOf<F, T, I>>(c.inputs[I], at[I])...);
  };
  using Result = decltype(value({}));
  using Out = std::conditional_t<std::is_same_v<Result, bool>, bool, T>;
  Out* out = c.output().as<Out>();
  strided_walk<sizeof...(I)>(shape, {broadcast_strides(c.inputs[I].shape(), shape)...},
                             [&](const auto& at) { *out++ = static_cast<Out>(value(at)); });
}

}  // namespace detail

template <class F>
std::vector<TensorType> elementwise_shape(const ShapeContext& c) {
  return gives_bool<F> ? comparison_type(c, F::domain) : elementwise_type(c, F::domain);
}

template <class F>
void elementwise_reference(const KernelContext& c) {
  dispatch(c.inputs.back().dtype(), [&](auto t) {
    using T = decltype(t);
    if constexpr (detail::in_domain_of<T>(F::domain)) {
      detail::elementwise_loop<F, T>(c, std::make_index_sequence<F::arity>());
    } else {
      ensure(false, c.op, ": no kernel for ", c.inputs.back().type);
    }
  });
}

/// The op of functor F.
template <class F>
constexpr OpDef elementwise_op(GradientRule gradient, Autocast autocast = Autocast::widest) {
  return {.name = F::name,
          .shape = elementwise_shape<F>,
          .gradient = gradient,
          .reference = elementwise_reference<F>,
          .elementwise = true,
          .commutative = F::commutative,
          .in_place = any_input,
          .autocast = autocast,
          .onnx = F::onnx};
}

/// Calls visit(f) with an f of every functor type.
template <class Visit>
void for_each_functor(Visit visit) {
  std::apply([&](auto... functors) { (visit(functors), ...); }, Functors());
}

}  // namespace belfry
