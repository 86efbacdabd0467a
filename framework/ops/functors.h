#pragma once
// The formulas of elementwise ops, written once. `M` supplies the mathematical functions: StdMath
// for reference kernels, a vectorisable set for fast ones, the device's own on a GPU. nvcc reads
// this file too, so it includes nothing but <cmath> and uses no exceptions.

#include <cmath>
#include <string_view>
#include <tuple>

#if defined(__CUDACC__)
#define BELFRY_HOST_DEVICE __host__ __device__
#else
#define BELFRY_HOST_DEVICE
#endif

namespace belfry {

/// The C++ library's functions, for float and double.
struct StdMath {
  template <class T>
  static T exp(T x) {
    return std::exp(x);
  }
  template <class T>
  static T expm1(T x) {
    return std::expm1(x);
  }
  template <class T>
  static T log(T x) {
    return std::log(x);
  }
  template <class T>
  static T log1p(T x) {
    return std::log1p(x);
  }
  template <class T>
  static T sqrt(T x) {
    return std::sqrt(x);
  }
  template <class T>
  static T tanh(T x) {
    return std::tanh(x);
  }
  template <class T>
  static T erf(T x) {
    return std::erf(x);
  }
  template <class T>
  static T pow(T x, T y) {
    return std::pow(x, y);
  }
  template <class T>
  static T floor(T x) {
    return std::floor(x);
  }
};

namespace functor {

/// Functors have a name (that of their op) and `template <class M, class T> static R apply(T...)`.
struct Sigmoid {
  static constexpr std::string_view name = "sigmoid";
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T x) {
    return T(1) / (T(1) + M::exp(-x));
  }
};

struct Relu {
  static constexpr std::string_view name = "relu";
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T x) {
    return x < T(0) ? T(0) : x;  // this way round NaN stays NaN
  }
};

struct Add {
  static constexpr std::string_view name = "add";
  template <class M, class T>
  BELFRY_HOST_DEVICE static T apply(T a, T b) {
    return a + b;
  }
};

}  // namespace functor
}  // namespace belfry
