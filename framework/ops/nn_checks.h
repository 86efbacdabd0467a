#pragma once
// Small things that the shape rules and reference kernels of neural-network ops share.

#include <string>
#include <string_view>

#include "belfry/framework/graph/graph.h"

namespace belfry {

/// An element as the double in which reference kernels add up, and back.
template <class T>
double load(T value) {
  return static_cast<double>(static_cast<compute_type<T>>(value));
}
template <class T>
T store(double value) {
  return static_cast<T>(static_cast<compute_type<T>>(value));
}

/// The type of statistics and of the parameters of a normalisation over x: f32, or f64 for f64.
inline DType statistics_type(DType x) { return x == DType::f64 ? DType::f64 : DType::f32; }

/// Errors, naming op and operand, unless the type is as asked.
void require_floating(std::string_view op, std::string_view operand, const TensorType& type);
void require_rank(std::string_view op, std::string_view operand, const TensorType& type, int rank,
                  std::string_view axes);
/// The same of an operand [n, (d,) (h,) w, `last`], of so many axes between; where another op takes
/// what it is, that one is named.
void require_input(std::string_view op, const TensorType& type, int axes,
                   std::string_view last = "c");
void require_same_dtype(std::string_view op, std::string_view a_name, const TensorType& a,
                        std::string_view b_name, const TensorType& b);
void require_type(std::string_view op, std::string_view operand, const TensorType& type,
                  const TensorType& expected);

/// "; use conv3d" for conv2d and an operand of rank 5: what to do about an operand of this rank,
/// for messages. One axis too few may be that of the batch. Empty when the op is for it, or when
/// there is no such op.
std::string other_op_text(std::string_view op, int rank);

/// The axes of an array, for messages: `first`, (d,) (h,) w with a prefix, and `last`, such as
/// "[n, oh, ow, out]" or "[kd, kh, kw, in / groups, out]". `first` may be empty.
std::string axes_text(std::string_view first, std::string_view prefix, int axes,
                      std::string_view last);

/// Runs the checks of a composition: their Errors name the scope of `x`, as those of ops do.
template <class Checks>
void check_at(const Tensor& x, const Checks& checks) {
  at_scope(x.graph().default_placement({&x, 1}).scope, checks);
}

/// a + b, where an undefined tensor counts as nothing.
Tensor add_defined(Tensor a, Tensor b);

/// The gradient of an op by way of the same outputs written in differentiable ops: for gradient
/// ops, whose own derivatives are rare and need not be fast. `compose` gives the outputs in terms
/// of its `inputs`, which stand for the op's.
std::vector<Tensor> composed_gradient(
    const GradContext& c,
    std::vector<Tensor> (*compose)(const GradContext& c, std::span<const Tensor> inputs));

}  // namespace belfry
