#pragma once
// Element types.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/fields.h"

namespace belfry {

/// The element types of arrays and tensors. `boolean` is one byte holding 0 or 1.
enum class DType : std::uint8_t { f64, f32, bf16, f16, i64, i32, u8, boolean };

/// Brain float: the upper 16 bits of a float. Conversion rounds to nearest even; NaN stays NaN.
struct BFloat16 {
  std::uint16_t bits = 0;  ///< sign, 8 of the exponent, 7 of the fraction
  BFloat16() = default;
  explicit BFloat16(float value);  ///< rounds
  /// Exact.
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

/// IEEE binary16. Conversion rounds to nearest even, overflows to infinity; NaN stays NaN.
struct Float16 {
  std::uint16_t bits = 0;  ///< sign, 5 of the exponent, 10 of the fraction
  Float16() = default;
  explicit Float16(float value);    ///< rounds
  explicit operator float() const;  ///< exact
};

std::size_t size_of(DType dtype);  ///< in bytes
bool is_floating(DType dtype);     ///< f64, f32, bf16 or f16
bool has_16_bits(DType dtype);     ///< bf16 or f16
constexpr auto names_of(DType) {
  return name_list("f64", "f32", "bf16", "f16", "i64", "i32", "u8", "bool");
}
DType dtype_from_string(std::string_view s);  ///< inverse of to_string; Error if unknown

/// The DType of a C++ element type: dtype_of<float> is DType::f32.
template <class T>
constexpr DType dtype_of = [] {
  if constexpr (std::is_same_v<T, double>)
    return DType::f64;
  else if constexpr (std::is_same_v<T, float>)
    return DType::f32;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return DType::bf16;
  else if constexpr (std::is_same_v<T, Float16>)
    return DType::f16;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return DType::i64;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return DType::i32;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return DType::u8;
  else if constexpr (std::is_same_v<T, bool>)
    return DType::boolean;
  else
    static_assert(!sizeof(T), "not an element type");
}();

/// Calls f(T{}) with T the C++ type of `dtype`; f is usually a generic lambda.
template <class F>
decltype(auto) dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f64:
      return f(double{});
    case DType::f32:
      return f(float{});
    case DType::bf16:
      return f(BFloat16{});
    case DType::f16:
      return f(Float16{});
    case DType::i64:
      return f(std::int64_t{});
    case DType::i32:
      return f(std::int32_t{});
    case DType::u8:
      return f(std::uint8_t{});
    case DType::boolean:
      return f(bool{});
  }
  no_such_value(dtype);
}

/// As dispatch, for the floating types only; Error naming `what` for the others.
template <class F>
decltype(auto) dispatch_floating(DType dtype, std::string_view what, F&& f) {
  switch (dtype) {
    case DType::f64:
      return f(double{});
    case DType::f32:
      return f(float{});
    case DType::bf16:
      return f(BFloat16{});
    case DType::f16:
      return f(Float16{});
    default:
      fail(what, ": expected a floating type, got ", dtype);
  }
}

/// The type in which arithmetic on T is done: float for the 16-bit floats, else T itself.
template <class T>
using compute_type =
    std::conditional_t<std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>, float, T>;

}  // namespace belfry
