#pragma once
// How a variable gets its first value.

#include <string>

#include "belfry/framework/base/enum_names.h"
#include "belfry/framework/tensor/array.h"

namespace belfry {

struct PhiloxKey;

/// A way to fill a new variable: a plain value that can be printed and compared. Made by the
/// functions below. `fan_in` and `fan_out` are the products of the kernel sizes with the last but
/// one and the last axis: shape [kh, kw, in, out] has fan_in = kh * kw * in; [in, out] has fan_in =
/// in; a vector [n] has fan_in = fan_out = n.
struct Initializer {
  enum class Kind : std::uint8_t {
    constant,
    uniform,
    normal,
    truncated_normal,
    variance_scaling,
    orthogonal,
    given
  };
  friend constexpr auto names_of(Kind) {
    return name_list("constant", "uniform", "normal", "truncated_normal", "variance_scaling",
                     "orthogonal", "given");
  }
  enum class Fan : std::uint8_t { in, out, average };
  friend constexpr auto names_of(Fan) { return name_list("in", "out", "average"); }

  Kind kind = Kind::constant;
  double a = 0;  ///< constant: value; uniform: low; normal: mean; scaling: scale; orthogonal: gain
  double b = 0;  ///< uniform: high; normal: standard deviation
  Fan fan = Fan::in;
  Kind distribution = Kind::truncated_normal;  ///< of variance_scaling
  Array value = {};                            ///< of given

  /// Fills `out` from the stream named by `key`. Error: type or shape that this way cannot fill.
  void fill(Array& out, PhiloxKey key) const;
};

std::string to_string(const Initializer& initializer);  ///< "glorot"-like words with all parameters

Initializer zeros();
Initializer ones();
Initializer constant_value(double value);
Initializer uniform(double low, double high);
Initializer normal(double mean = 0, double standard_deviation = 1);
/// Normal, redrawn until within two standard deviations of the mean.
Initializer truncated_normal(double mean = 0, double standard_deviation = 1);
/// Uniform in +-sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, AISTATS 2010, equation 16).
Initializer glorot_uniform();
/// Normal, truncated, of variance 2 / (fan_in + fan_out).
Initializer glorot_normal();
/// Uniform in +-sqrt(6 / fan_in) (He et al., ICCV 2015, equation 10).
Initializer he_uniform();
/// Normal, truncated, of variance 2 / fan_in.
Initializer he_normal();
/// An orthogonal matrix times `gain` (Saxe et al., ICLR 2014): all axes but the last as rows; rank
/// at least 2.
Initializer orthogonal(double gain = 1);
/// These very values.
Initializer given(Array value);

}  // namespace belfry
