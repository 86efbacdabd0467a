#pragma once
// The formulas of elementwise ops, written once. `M` supplies the mathematical functions: StdMath
// for reference kernels, a vectorisable set for fast ones, the device's own on a GPU. nvcc reads
// this file too, so it includes nothing but a few standard headers and uses no exceptions.

#include <cmath>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "belfry/framework/base/host_device.h"
#include "belfry/framework/ops/elementwise/normal_distribution.h"

namespace belfry {

struct OpDef;

/// The C++ library's functions, for float and double; CUDA's of the same names on a GPU.
struct StdMath {
  template <class T>
  BELFRY_HOST_DEVICE static T exp(T x) {
    return std::exp(x);
  }
  template <class T>
  BELFRY_HOST_DEVICE static T expm1(T x) {
    return std::expm1(x);
  }
  template <class T>
  BELFRY_HOST_DEVICE static T log(T x) {
    return std::log(x);
  }
  template <class T>
  BELFRY_HOST_DEVICE static T log1p(T x) {
    return std::log1p(x);
  }
  template <class T>
  BELFRY_HOST_DEVICE static T sqrt(T x) {
    return std::sqrt(x);
  }
  template <class T>
  BELFRY_HOST_DEVICE static T tanh(T x) {
    return std::tanh(x);
  }
  template <class T>
  BELFRY_HOST_DEVICE static T erf(T x) {
    return std::erf(x);
  }
  template <class T>
  BELFRY_HOST_DEVICE static T pow(T x, T y) {
    return std::pow(x, y);
  }
  template <class T>
  BELFRY_HOST_DEVICE static T floor(T x) {
    return std::floor(x);
  }
};

/// The element types on which a functor is defined. 16-bit floats are computed as float.
enum class Domain {
  floating,  ///< f64 f32 bf16 f16
  number,    ///< those and i64 i32 u8; integers wrap around
  any,       ///< those and bool
  boolean,   ///< bool
};

namespace functor {

/// The traits of a functor: arity, domain, whether it commutes bit for bit, and the operator of
/// ONNX that computes the same ("" where there is none). Each functor has besides the name of its
/// op, the op itself, which is defined beside its gradient, and `template <class M, class T> static
/// R apply(T...)`, where R is T, or bool for comparisons. Where alone takes (bool, T, T).
template <int Arity, Domain D, bool Commutative = false>
struct Functor {
  static constexpr int arity = Arity;
  static constexpr Domain domain = D;
  static constexpr bool commutative = Commutative;
  static constexpr std::string_view onnx = "";
};

namespace detail {

// Signed integers wrap around as unsigned ones do; plain arithmetic would be undefined.
template <class T>
using Wrapping = std::common_type_t<unsigned, std::make_unsigned_t<T>>;

template <class T>
BELFRY_HOST_DEVICE T sub(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
  } else {
    return a - b;
  }
}

}  // namespace detail

// ---- one operand -------------------------------------------------------------------------------

struct Neg : Functor<1, Domain::number> {
  static constexpr std::string_view name = "neg";
  static constexpr std::string_view onnx = "Neg";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T x) {
    if constexpr (std::is_integral_v<T>) {
      return detail::sub(T(0), x);
    } else {
      return -x;
    }
  }
};

struct Abs : Functor<1, Domain::number> {
  static constexpr std::string_view name = "abs";
  static constexpr std::string_view onnx = "Abs";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T x) {
    return x <= T(0) ? detail::sub(T(0), x) : x;  // also turns -0 into 0
  }
};

struct Sign : Functor<1, Domain::number> {
  static constexpr std::string_view name = "sign";
  static constexpr std::string_view onnx = "Sign";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T x) {
    return x > T(0) ? T(1) : x < T(0) ? T(-1) : x;  // NaN stays NaN
  }
};

struct Floor : Functor<1, Domain::floating> {
  static constexpr std::string_view name = "floor";
  static constexpr std::string_view onnx = "Floor";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T x) {
    return M::floor(x);
  }
};

struct Exp : Functor<1, Domain::floating> {
  static constexpr std::string_view name = "exp";
  static constexpr std::string_view onnx = "Exp";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T x) {
    return M::exp(x);
  }
};

struct Expm1 : Functor<1, Domain::floating> {
  static constexpr std::string_view name = "expm1";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T x) {
    return M::expm1(x);
  }
};

struct Log : Functor<1, Domain::floating> {
  static constexpr std::string_view name = "log";
  static constexpr std::string_view onnx = "Log";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T x) {
    return M::log(x);
  }
};

struct Log1p : Functor<1, Domain::floating> {
  static constexpr std::string_view name = "log1p";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T x) {
    return M::log1p(x);
  }
};

struct Sqrt : Functor<1, Domain::floating> {
  static constexpr std::string_view name = "sqrt";
  static constexpr std::string_view onnx = "Sqrt";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T x) {
    return M::sqrt(x);
  }
};

struct Rsqrt : Functor<1, Domain::floating> {
  static constexpr std::string_view name = "rsqrt";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T x) {
    return T(1) / M::sqrt(x);
  }
};

struct Reciprocal : Functor<1, Domain::floating> {
  static constexpr std::string_view name = "reciprocal";
  static constexpr std::string_view onnx = "Reciprocal";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T x) {
    return T(1) / x;
  }
};

struct Erf : Functor<1, Domain::floating> {
  static constexpr std::string_view name = "erf";
  static constexpr std::string_view onnx = "Erf";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T x) {
    return M::erf(x);
  }
};

struct Gelu : Functor<1, Domain::floating> {
  static constexpr std::string_view name = "gelu";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T x) {
    return x * normal_cdf<M>(x);
  }
};

struct GeluByTanh : Functor<1, Domain::floating> {
  static constexpr std::string_view name = "gelu_by_tanh";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T x) {
    return x * NormalByTanh<T>(x).template value<M>();
  }
};

struct Sigmoid : Functor<1, Domain::floating> {
  static constexpr std::string_view name = "sigmoid";
  static constexpr std::string_view onnx = "Sigmoid";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T x) {
    return T(1) / (T(1) + M::exp(-x));
  }
};

struct Tanh : Functor<1, Domain::floating> {
  static constexpr std::string_view name = "tanh";
  static constexpr std::string_view onnx = "Tanh";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T x) {
    return M::tanh(x);
  }
};

struct Relu : Functor<1, Domain::number> {
  static constexpr std::string_view name = "relu";
  static constexpr std::string_view onnx = "Relu";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T x) {
    return x < T(0) ? T(0) : x;  // this way round NaN stays NaN
  }
};

struct LogicalNot : Functor<1, Domain::boolean> {
  static constexpr std::string_view name = "logical_not";
  static constexpr std::string_view onnx = "Not";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static bool apply(T x) {
    return !x;
  }
};

// ---- two operands ------------------------------------------------------------------------------

struct Add : Functor<2, Domain::number, true> {
  static constexpr std::string_view name = "add";
  static constexpr std::string_view onnx = "Add";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      using W = detail::Wrapping<T>;
      return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
    } else {
      return a + b;
    }
  }
};

struct Sub : Functor<2, Domain::number> {
  static constexpr std::string_view name = "sub";
  static constexpr std::string_view onnx = "Sub";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T a, T b) {
    return detail::sub(a, b);
  }
};

struct Mul : Functor<2, Domain::number, true> {
  static constexpr std::string_view name = "mul";
  static constexpr std::string_view onnx = "Mul";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      using W = detail::Wrapping<T>;
      return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
    } else {
      return a * b;
    }
  }
};

struct Div : Functor<2, Domain::number> {
  static constexpr std::string_view name = "div";
  static constexpr std::string_view onnx = "Div";
  static const OpDef op;
  /// A whole number over 0 gives 0 here: the op's kernel looks for such divisors beforehand.
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == T(0)) return T(0);
      if (std::is_signed_v<T> && b == T(-1)) return detail::sub(T(0), a);  // the lowest would trap
    }
    return a / b;
  }
};

struct Pow : Functor<2, Domain::floating> {
  static constexpr std::string_view name = "pow";
  static constexpr std::string_view onnx = "Pow";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T a, T b) {
    return M::pow(a, b);
  }
};

struct Minimum : Functor<2, Domain::number> {
  static constexpr std::string_view name = "minimum";
  static constexpr std::string_view onnx = "Min";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T a, T b) {
    return a <= b || a != a ? a : b;  // NaN wins
  }
};

struct Maximum : Functor<2, Domain::number> {
  static constexpr std::string_view name = "maximum";
  static constexpr std::string_view onnx = "Max";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T a, T b) {
    return a >= b || a != a ? a : b;  // NaN wins
  }
};

struct ReluGrad : Functor<2, Domain::number> {
  static constexpr std::string_view name = "relu_grad";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T dy, T y) {
    return y > T(0) ? dy : T(0);
  }
};

struct GeluGrad : Functor<2, Domain::floating> {
  static constexpr std::string_view name = "gelu_grad";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T dy, T x) {
    return dy * (normal_cdf<M>(x) + x * normal_pdf<M>(x));
  }
};

struct GeluByTanhGrad : Functor<2, Domain::floating> {
  static constexpr std::string_view name = "gelu_by_tanh_grad";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T dy, T x) {
    NormalByTanh<T> normal(x);
    T p = normal.template value<M>();
    return dy * (p + normal.z * p * (T(1) - p) * normal.slope());
  }
};

struct Equal : Functor<2, Domain::any, true> {
  static constexpr std::string_view name = "equal";
  static constexpr std::string_view onnx = "Equal";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static bool apply(T a, T b) {
    return a == b;
  }
};

struct NotEqual : Functor<2, Domain::any, true> {
  static constexpr std::string_view name = "not_equal";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static bool apply(T a, T b) {
    return a != b;
  }
};

struct Less : Functor<2, Domain::number> {
  static constexpr std::string_view name = "less";
  static constexpr std::string_view onnx = "Less";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static bool apply(T a, T b) {
    return a < b;
  }
};

struct LessEqual : Functor<2, Domain::number> {
  static constexpr std::string_view name = "less_equal";
  static constexpr std::string_view onnx = "LessOrEqual";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static bool apply(T a, T b) {
    return a <= b;
  }
};

struct Greater : Functor<2, Domain::number> {
  static constexpr std::string_view name = "greater";
  static constexpr std::string_view onnx = "Greater";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static bool apply(T a, T b) {
    return a > b;
  }
};

struct GreaterEqual : Functor<2, Domain::number> {
  static constexpr std::string_view name = "greater_equal";
  static constexpr std::string_view onnx = "GreaterOrEqual";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static bool apply(T a, T b) {
    return a >= b;
  }
};

struct LogicalAnd : Functor<2, Domain::boolean, true> {
  static constexpr std::string_view name = "logical_and";
  static constexpr std::string_view onnx = "And";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static bool apply(T a, T b) {
    return a && b;
  }
};

struct LogicalOr : Functor<2, Domain::boolean, true> {
  static constexpr std::string_view name = "logical_or";
  static constexpr std::string_view onnx = "Or";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static bool apply(T a, T b) {
    return a || b;
  }
};

// ---- three operands ----------------------------------------------------------------------------

struct Where : Functor<3, Domain::any> {
  static constexpr std::string_view name = "where";
  static constexpr std::string_view onnx = "Where";
  static const OpDef op;
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(bool condition, T a, T b) {
    return condition ? a : b;
  }
};

}  // namespace functor

/// Every functor, so that kernels can be made for all of them from one list.
using Functors =
    std::tuple<functor::Neg, functor::Abs, functor::Sign, functor::Floor, functor::Exp,
               functor::Expm1, functor::Log, functor::Log1p, functor::Sqrt, functor::Rsqrt,
               functor::Reciprocal, functor::Erf, functor::Gelu, functor::GeluByTanh,
               functor::Sigmoid, functor::Tanh, functor::Relu, functor::LogicalNot, functor::Add,
               functor::Sub, functor::Mul, functor::Div, functor::Pow, functor::Minimum,
               functor::Maximum, functor::ReluGrad, functor::GeluGrad, functor::GeluByTanhGrad,
               functor::Equal, functor::NotEqual, functor::Less, functor::LessEqual,
               functor::Greater, functor::GreaterEqual, functor::LogicalAnd, functor::LogicalOr,
               functor::Where>;

}  // namespace belfry
