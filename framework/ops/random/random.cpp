#include "belfry/framework/ops/random/random.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/random/draw.h"

namespace belfry {
namespace {

template <class T>
T round_to(double x) {
  return static_cast<T>(static_cast<compute_type<T>>(x));
}

template <class T>
T round_below(double x, double high) {
  T rounded = round_to<T>(x);
  return static_cast<double>(static_cast<compute_type<T>>(rounded)) < high ? rounded
                                                                           : number_below(rounded);
}

using Four = std::array<double, 4>;

// The elements of a block are those of draw(block), four numbers, as store(element type, number).
template <class Draw, class Store>
void random_reference(const KernelContext& c, Draw draw, Store store) {
  const auto& o = c.as<RandomOptions>();
  dispatch_floating(c.output().dtype(), c.op, [&](auto t) {
    auto* y = c.output().as<decltype(t)>();
    for_each_block(c.input(0), c.output().shape(), o.stream,
                   [&](std::int64_t first, std::int64_t count, const RandomBlock& block) {
                     Four z = draw(block);
                     for (std::int64_t i = 0; i < count; ++i) y[first + i] = store(t, z[i]);
                   });
  });
}

void random_uniform_reference(const KernelContext& c) {
  const auto& o = c.as<RandomOptions>();
  auto draw = [](const RandomBlock& block) {
    Four u{};
    std::ranges::transform(block.words(), u.begin(), [](auto word) { return uniform_float(word); });
    return u;
  };
  random_reference(c, draw, [&](auto t, double u) {
    return round_below<decltype(t)>(o.a + (o.b - o.a) * u, o.b);
  });
}

// Numbers of mean 0 and variance 1 become those of mean a and standard deviation b.
template <class Draw>
void normal_reference(const KernelContext& c, Draw draw) {
  const auto& o = c.as<RandomOptions>();
  random_reference(c, draw, [&](auto t, double z) { return round_to<decltype(t)>(o.a + o.b * z); });
}

void random_normal_reference(const KernelContext& c) {
  normal_reference(c, [](const RandomBlock& block) { return normals(block.words()); });
}

void random_truncated_normal_reference(const KernelContext& c) {
  normal_reference(c, [](const RandomBlock& block) {
    Four z = normals(block.words());
    for (std::size_t lane = 0; lane < z.size(); ++lane)
      // About one in 22 lies outside: it is drawn again under the next attempt.
      for (std::uint64_t attempt = 1; std::abs(z[lane]) > 2; ++attempt)
        z[lane] = normals(block.words(attempt))[lane];
    return z;
  });
}

}  // namespace

std::vector<TensorType> random_shape(const ShapeContext& c) {
  const auto& o = c.as<RandomOptions>();
  require(is_floating(o.type.dtype), c.op, ": expected a floating type, got ", o.type.dtype);
  return {o.type};
}

const OpDef random_uniform_op{.name = "random_uniform",
                              .shape = random_shape,
                              .gradient = no_gradient,
                              .reference = random_uniform_reference};

Tensor random_uniform(const Scope& s, const Shape& shape, double low, double high, DType dtype) {
  require(low < high && std::isfinite(high - low), "random_uniform: low must be below high, got ",
          low, " and ", high);
  RandomOptions options{.type = {shape, dtype}, .stream = s.next_stream(), .a = low, .b = high};
  return Tensor(apply(random_uniform_op, s, {random_state(s.graph())}, options));
}

const OpDef random_normal_op{.name = "random_normal",
                             .shape = random_shape,
                             .gradient = no_gradient,
                             .reference = random_normal_reference};

Tensor random_normal(const Scope& s, const Shape& shape, double mean, double standard_deviation,
                     DType dtype) {
  require(standard_deviation >= 0, "random_normal: the standard deviation must be at least 0, got ",
          standard_deviation);
  RandomOptions options{
      .type = {shape, dtype}, .stream = s.next_stream(), .a = mean, .b = standard_deviation};
  return Tensor(apply(random_normal_op, s, {random_state(s.graph())}, options));
}

const OpDef random_truncated_normal_op{.name = "random_truncated_normal",
                                       .shape = random_shape,
                                       .gradient = no_gradient,
                                       .reference = random_truncated_normal_reference};

Tensor random_truncated_normal(const Scope& s, const Shape& shape, double mean,
                               double standard_deviation, DType dtype) {
  require(standard_deviation >= 0,
          "random_truncated_normal: the standard deviation must be at least 0, got ",
          standard_deviation);
  RandomOptions options{
      .type = {shape, dtype}, .stream = s.next_stream(), .a = mean, .b = standard_deviation};
  return Tensor(apply(random_truncated_normal_op, s, {random_state(s.graph())}, options));
}

}  // namespace belfry
