#include "belfry/framework/layers/transformers.h"

#include <cmath>
#include <cstdlib>
#include <vector>

#include "belfry/framework/layers/layer_support.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "belfry/framework/ops/nn.h"
#include "belfry/framework/ops/nn_checks.h"

namespace belfry {
namespace {

/// [1 or n, t, 1, d]: of each element the function of its pair's angle.
Tensor angles(const Tensor& x, const RotaryOptions& o, double (*function)(double)) {
  std::int64_t t = x.size(1), d = x.size(3);
  std::int64_t steps = o.positions.defined() ? o.longest : t;
  Array out(Shape{1, steps, 1, d}, DType::f64);
  double* to = out.span<double>().data();
  std::vector<double> speeds;  // angle by step
  for (std::int64_t i = 0; i < d; ++i) {
    double pair = static_cast<double>(o.interleaved ? i / 2 : i % (d / 2));
    speeds.push_back(std::pow(o.base, -2 * pair / static_cast<double>(d)));
  }
  for (std::int64_t step = 0; step < steps; ++step)
    for (double speed : speeds) *to++ = function(static_cast<double>(o.first + step) * speed);
  Tensor of_steps = constant(x.graph(), out.cast(statistics_type(x.dtype())));
  if (!o.positions.defined()) return of_steps;
  Tensor of_places = embedding_lookup(reshape(of_steps, {steps, d}), o.positions);
  return reshape(of_places, {x.size(0), t, 1, d});
}

/// Each pair (a, b) as (-b, a).
Tensor turned_by_quarter(const Tensor& x, bool interleaved) {
  std::int64_t d = x.size(-1);
  Shape pairs = x.shape();
  if (interleaved) {
    std::vector<std::int64_t> sizes(x.shape().begin(), x.shape().end() - 1);
    sizes.insert(sizes.end(), {d / 2, 2});
    pairs = Shape(sizes);
  }
  std::vector<Tensor> parts = split(reshape(x, pairs), 2, -1);
  return reshape(concat({-parts[1], parts[0]}, -1), x.shape());
}

}  // namespace

Tensor rotary(Tensor x, RotaryOptions o) {
  require_defined("rotary", {x});
  check_at(x, [&] {
    require(is_floating(x.dtype()) && x.rank() == 4 && x.size(3) % 2 == 0,
            "rotary: expected floating [n, t, heads, d] with an even d, got ", x.type());
    const Tensor& at = o.positions;
    if (!at.defined()) return;
    bool whole = at.dtype() == DType::i32 || at.dtype() == DType::i64;
    require(whole && at.shape() == Shape({x.size(0), x.size(1)}),
            "rotary: positions must be i32 or i64 [", x.size(0), ", ", x.size(1), "], got ",
            at.type());
    require(o.longest >= 1 && o.first == 0, "rotary: positions need the option longest, which is ",
            o.longest, ", and take the place of first, which is ", o.first);
  });
  Tensor wide = cast(x, statistics_type(x.dtype()));
  Tensor y =
      wide * angles(x, o, [](double a) { return std::cos(a); })
      + turned_by_quarter(wide, o.interleaved) * angles(x, o, [](double a) { return std::sin(a); });
  return cast(y, x.dtype());
}

Tensor alibi_bias(const Scope& s, std::int64_t heads, std::int64_t tq, std::int64_t tk) {
  layers::require_at(s, heads >= 1 && tq >= 1 && tk >= 1, "alibi_bias: ", heads, " heads, ", tq,
                     " queries, ", tk, " keys; expected at least 1 each");
  Array out(Shape{heads, tq, tk}, DType::f32);
  float* to = out.span<float>().data();
  for (std::int64_t head = 0; head < heads; ++head)
    for (std::int64_t query = 0; query < tq; ++query)
      for (std::int64_t key = 0; key < tk; ++key)
        *to++ = static_cast<float>(-std::exp2(-8.0 * (head + 1) / heads)
                                   * std::abs(query + tk - tq - key));
  return constant(s, out);
}

Tensor rms_norm(const Scope& s, Tensor x, RmsNormOptions o) {
  layers::require_features(s, "rms_norm", x, 2);
  layers::require_at(s, o.epsilon >= 0, "rms_norm: epsilon must be at least 0, got ", o.epsilon);
  Graph::PlacementGuard guard(s.graph(), s.placement());
  DType dtype = layers::statistics_dtype(x);
  Tensor scale =
      s.variable("scale", {.shape = Shape{x.size(-1)}, .dtype = dtype, .initializer = ones()});
  Tensor wide = cast(x, dtype);
  Tensor squares = mean(square(wide), {.axes = {-1}, .keep_dims = true});
  return cast(wide * rsqrt(squares + o.epsilon) * scale, x.dtype());
}

Tensor swiglu(const Scope& s, Tensor x, SwigluOptions o) {
  layers::require_features(s, "swiglu", x, 2);
  DenseOptions wide{
      .units = o.hidden, .use_bias = o.use_bias, .kernel_initializer = o.kernel_initializer};
  Tensor gate = dense(s / "gate", x, wide);
  Tensor up = dense(s / "up", x, wide);
  DenseOptions narrow = wide;
  narrow.units = x.size(-1);
  return dense(s / "down", silu(gate) * up, narrow);
}

}  // namespace belfry
