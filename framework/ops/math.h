#pragma once
// Elementwise ops and reductions.

#include <vector>

#include "belfry/framework/graph/graph.h"

namespace belfry {

// ---- Elementwise ops. Operands broadcast as in NumPy and must have one dtype; comparisons and
// logic give bool. Each follows its functor in framework/ops/elementwise/functors.h unless it is a
// composition.

Tensor add(Tensor a, Tensor b);  ///< a + b; integers wrap around
Tensor sub(Tensor a, Tensor b);  ///< a - b; integers wrap around
Tensor mul(Tensor a, Tensor b);  ///< a * b; integers wrap around
/// Integers truncate toward zero; by 0 is an Error when the step runs.
Tensor div(Tensor a, Tensor b);
Tensor pow(Tensor a, Tensor b);      ///< floating types; gradient of b is 0 where a <= 0
Tensor minimum(Tensor a, Tensor b);  ///< NaN wins; the gradient goes to a where a <= b, else to b
Tensor maximum(Tensor a, Tensor b);  ///< NaN wins; the gradient goes to a where a >= b, else to b

/// Comparisons of two tensors, element by element: bool, without a gradient. Bools are equal or
/// not; less() and its kin compare numbers only. NaN is unequal to everything.
///@{
Tensor equal(Tensor a, Tensor b);
Tensor not_equal(Tensor a, Tensor b);
Tensor less(Tensor a, Tensor b);
Tensor less_equal(Tensor a, Tensor b);
Tensor greater(Tensor a, Tensor b);
Tensor greater_equal(Tensor a, Tensor b);
///@}
/// Logic on bools, without a gradient.
///@{
Tensor logical_and(Tensor a, Tensor b);
Tensor logical_or(Tensor a, Tensor b);
Tensor logical_not(Tensor x);
///@}

/// a where `condition` (bool) holds, else b; all three broadcast.
Tensor where(Tensor condition, Tensor a, Tensor b);
/// min(max(x, low), high); the gradient is 1 inside and on the borders, 0 outside. Error: low >
/// high. Integers become those inside [low, high]: clip(x, 0.5, 2.5) gives 1 or 2.
Tensor clip(Tensor x, double low, double high);

Tensor neg(Tensor x);         ///< -x; integers wrap around
Tensor abs(Tensor x);         ///< gradient 0 at 0
Tensor sign(Tensor x);        ///< -1, 0 or 1; no gradient
Tensor floor(Tensor x);       ///< no gradient
Tensor exp(Tensor x);         ///< e^x; floating types, as all to tanh() but square()
Tensor expm1(Tensor x);       ///< exp(x) - 1, without cancellation near 0
Tensor log(Tensor x);         ///< the natural logarithm
Tensor log1p(Tensor x);       ///< log(1 + x), without cancellation near 0
Tensor sqrt(Tensor x);        ///< the square root
Tensor rsqrt(Tensor x);       ///< 1 / sqrt(x)
Tensor reciprocal(Tensor x);  ///< 1 / x
Tensor square(Tensor x);      ///< x * x
Tensor erf(Tensor x);         ///< the error function
Tensor sigmoid(Tensor x);     ///< 1 / (1 + exp(-x))
Tensor tanh(Tensor x);        ///< the hyperbolic tangent
Tensor relu(Tensor x);        ///< max(x, 0); NaN stays NaN; gradient 0 at 0

/// Options of leaky_relu().
struct LeakyReluOptions {
  float alpha = 0.2f;  ///< slope for x < 0 (0.2 as in tf.nn.leaky_relu)
};
/// x where x > 0, else alpha * x.
Tensor leaky_relu(Tensor x, LeakyReluOptions options = {});
/// Options of elu().
struct EluOptions {
  float alpha = 1;  ///< -alpha is the limit for x towards minus infinity
};
/// x where x > 0, else alpha * (exp(x) - 1).
Tensor elu(Tensor x, EluOptions options = {});
/// Options of gelu().
struct GeluOptions {
  bool approximate = false;  ///< the tanh form (Hendrycks and Gimpel 2016, section 2)
};
/// x times the probability that a standard normal number is below x.
Tensor gelu(Tensor x, GeluOptions options = {});
Tensor silu(Tensor x);  ///< x * sigmoid(x)
/// Options of softplus().
struct SoftplusOptions {
  float beta = 1;  ///< log(1 + exp(beta x)) / beta, computed without overflow
};
/// A smooth relu(), by the formula at `beta`. Error: beta is not above 0.
Tensor softplus(Tensor x, SoftplusOptions options = {});

/// Element type conversion; floats to integers truncate toward zero, those out of range become the
/// nearest integer, NaN becomes 0; integers to narrower ones wrap; anything to bool is x != 0.
/// Gradients flow between floating types only. A no-op when the type is that already.
Tensor cast(Tensor x, DType dtype);
/// x, through which no gradient flows.
Tensor stop_gradient(Tensor x);

/// Gradient of relu through its output: dy where y > 0, else 0.
Tensor relu_grad(Tensor dy, Tensor y);

/// Operators for add(), sub(), mul(), div() and neg().
///@{
inline Tensor operator+(Tensor a, Tensor b) { return add(a, b); }
inline Tensor operator-(Tensor a, Tensor b) { return sub(a, b); }
inline Tensor operator*(Tensor a, Tensor b) { return mul(a, b); }
inline Tensor operator/(Tensor a, Tensor b) { return div(a, b); }
inline Tensor operator-(Tensor x) { return neg(x); }
///@}
/// The same with a number, which takes the tensor's dtype. Error: the dtype cannot hold it (2.5
/// beside i64).
///@{
Tensor operator+(Tensor a, double b);
Tensor operator-(Tensor a, double b);
Tensor operator*(Tensor a, double b);
Tensor operator/(Tensor a, double b);
Tensor operator+(double a, Tensor b);
Tensor operator-(double a, Tensor b);
Tensor operator*(double a, Tensor b);
Tensor operator/(double a, Tensor b);
///@}

// ---- Reductions over axes. An empty list of axes means all. Floating sums accumulate in at least
// float, in an order that depends on the shape alone.

/// Options of the reductions.
struct ReduceOptions {
  std::vector<int> axes = {};  ///< negative ones count from the end; empty: all
  bool keep_dims = false;      ///< leave reduced axes as size 1
  BELFRY_FIELDS(axes, keep_dims)
};

Tensor sum(Tensor x, ReduceOptions options = {});   ///< of no elements: 0
Tensor mean(Tensor x, ReduceOptions options = {});  ///< floating types; of no elements: NaN
/// The largest or smallest elements; NaN wins. Ties share the gradient evenly. No elements give
/// -inf, or inf for min(); with integers the type's lowest, or highest.
///@{
Tensor max(Tensor x, ReduceOptions options = {});
Tensor min(Tensor x, ReduceOptions options = {});
///@}
Tensor prod(Tensor x, ReduceOptions options = {});  ///< gradient exact with zeros among the factors

/// Index of the largest (smallest) element along an axis, i64; the first among equals; NaN counts
/// as largest (smallest). Error: the axis has size 0.
///@{
Tensor argmax(Tensor x, int axis);
Tensor argmin(Tensor x, int axis);
///@}

/// x summed over the axes that broadcasting to its shape had added, giving `shape`: the gradient of
/// broadcasting.
Tensor sum_to(Tensor x, const Shape& shape);

}  // namespace belfry
