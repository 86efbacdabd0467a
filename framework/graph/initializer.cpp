#include <cmath>
#include <vector>

#include "belfry/framework/graph/initial_draws.h"
#include "belfry/framework/graph/leaves.h"

namespace belfry {
namespace {

using Kind = Initializer::Kind;
using Fan = Initializer::Fan;

struct Fans {
  double in, out;
};

Fans fans(const Shape& shape) {
  if (shape.rank() == 0) return {1, 1};
  if (shape.rank() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  double receptive = 1;
  for (int i = 0; i < shape.rank() - 2; ++i) receptive *= shape[i];
  return {receptive * shape[shape.rank() - 2], receptive * shape[shape.rank() - 1]};
}

// The standard deviation of a unit normal cut at two standard deviations.
constexpr double truncated_deviation = 0.87962566103423978;

double scaled_variance(const Initializer& i, const Shape& shape) {
  Fans f = fans(shape);
  double fan = i.fan == Fan::in ? f.in : i.fan == Fan::out ? f.out : (f.in + f.out) / 2;
  return i.a / std::max(1.0, fan);
}

void fill_scaled(const Initializer& i, Array& out, PhiloxKey key) {
  double variance = scaled_variance(i, out.shape());
  if (i.distribution == Kind::uniform)
    return fill(out, key, UniformValues{.scale = std::sqrt(3 * variance), .centred = true});
  bool truncated = i.distribution != Kind::normal;
  double deviation = std::sqrt(variance) / (truncated ? truncated_deviation : 1);
  // -0.0 added changes nothing, 0 would the sign of -0.0.
  fill(out, key, NormalValues{.shift = -0.0, .scale = deviation, .truncated = truncated});
}

template <class Draw>
void fill_each(Array& out, Draw&& draw) {
  dispatch(out.dtype(), [&](auto t) {
    using T = decltype(t);
    for (T& x : out.span<T>()) x = static_cast<T>(static_cast<compute_type<T>>(draw()));
  });
}

// Rows of a tall Gaussian matrix made orthonormal by modified Gram-Schmidt, applied twice for
// accuracy; with the draws being rotation invariant, so is the result.
std::vector<double> orthonormal_columns(std::size_t rows, std::size_t columns,
                                        PhiloxStream random) {
  std::vector<double> m(rows * columns);  // column-major
  for (double& x : m) x = random.normal();
  for (std::size_t j = 0; j < columns; ++j) {
    double* column = &m[j * rows];
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t k = 0; k < j; ++k) {
        const double* other = &m[k * rows];
        double dot = 0;
        for (std::size_t i = 0; i < rows; ++i) dot += column[i] * other[i];
        for (std::size_t i = 0; i < rows; ++i) column[i] -= dot * other[i];
      }
    }
    double norm = 0;
    for (std::size_t i = 0; i < rows; ++i) norm += column[i] * column[i];
    norm = std::sqrt(norm);
    for (std::size_t i = 0; i < rows; ++i) column[i] /= norm;
  }
  return m;
}

void fill_orthogonal(Array& out, double gain, PhiloxStream random) {
  const Shape& shape = out.shape();
  require(shape.rank() >= 2, "orthogonal initializer: needs rank 2 or more, the shape is ", shape);
  if (shape.elements() == 0) return;
  std::size_t n = shape[shape.rank() - 1];
  auto m = shape.elements() / n;
  bool tall = m >= n;
  auto q = orthonormal_columns(std::max(m, n), std::min(m, n), random);
  std::size_t i = 0;
  std::size_t rows = std::max(m, n);
  fill_each(out, [&] {
    std::size_t r = i / n, c = i % n;
    ++i;
    return gain * (tall ? q[c * rows + r] : q[r * rows + c]);
  });
}

}  // namespace

void Initializer::fill(Array& out, PhiloxKey key) const {
  switch (kind) {
    case Kind::constant:
      return fill_each(out, [&] { return a; });
    case Kind::uniform:
      return belfry::fill(out, key, UniformValues{.shift = a, .scale = b - a});
    case Kind::normal:
      return belfry::fill(out, key, NormalValues{.shift = a, .scale = b});
    case Kind::truncated_normal:
      return belfry::fill(out, key, NormalValues{.shift = a, .scale = b, .truncated = true});
    case Kind::variance_scaling:
      return fill_scaled(*this, out, key);
    case Kind::orthogonal:
      return fill_orthogonal(out, a, PhiloxStream(key));
    case Kind::given: {
      require(value.shape() == out.shape(), "initializer: the given values have shape ",
              value.shape(), " but the variable is ", out.shape());
      Array converted = value.cast(out.dtype());
      std::copy(converted.raw_bytes().begin(), converted.raw_bytes().end(),
                out.raw_bytes().begin());
      return;
    }
  }
}

std::string to_string(const Initializer& i) {
  switch (i.kind) {
    case Kind::uniform:
    case Kind::normal:
    case Kind::truncated_normal:
      return concat(i.kind, "(", i.a, ", ", i.b, ")");
    case Kind::variance_scaling:
      return concat(i.kind, "(", i.a, ", fan_", i.fan, ", ", i.distribution, ")");
    case Kind::given:
      return concat(i.kind, "(", i.value, ")");
    default:
      return concat(i.kind, "(", i.a, ")");
  }
}

Initializer constant_value(double value) { return {.kind = Kind::constant, .a = value}; }
Initializer zeros() { return constant_value(0); }
Initializer ones() { return constant_value(1); }
Initializer uniform(double low, double high) {
  return {.kind = Kind::uniform, .a = low, .b = high};
}
Initializer normal(double mean, double standard_deviation) {
  return {.kind = Kind::normal, .a = mean, .b = standard_deviation};
}
Initializer truncated_normal(double mean, double standard_deviation) {
  return {.kind = Kind::truncated_normal, .a = mean, .b = standard_deviation};
}
Initializer glorot_uniform() {
  return {
      .kind = Kind::variance_scaling, .a = 1, .fan = Fan::average, .distribution = Kind::uniform};
}
Initializer glorot_normal() {
  return {.kind = Kind::variance_scaling, .a = 1, .fan = Fan::average};
}
Initializer he_uniform() {
  return {.kind = Kind::variance_scaling, .a = 2, .fan = Fan::in, .distribution = Kind::uniform};
}
Initializer he_normal() { return {.kind = Kind::variance_scaling, .a = 2, .fan = Fan::in}; }
Initializer orthogonal(double gain) { return {.kind = Kind::orthogonal, .a = gain}; }
Initializer given(Array value) {
  require(value.defined(), "given initializer: the array is undefined");
  return {.kind = Kind::given, .value = std::move(value)};
}

}  // namespace belfry
