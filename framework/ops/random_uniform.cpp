#include <cmath>
#include <limits>

#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/draw.h"
#include "belfry/framework/ops/random.h"

namespace belfry {
namespace {

/// The largest number of type T below x.
template <class T>
T number_below(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::nextafter(x, -std::numeric_limits<T>::infinity());
  } else {  // 16-bit floats are ordered as their bits, sign apart
    constexpr std::uint16_t sign = 0x8000;
    T below = x;
    if ((x.bits & ~sign) == 0) {
      below.bits = sign | 1;
    } else {
      below.bits = static_cast<std::uint16_t>(x.bits & sign ? x.bits + 1 : x.bits - 1);
    }
    return below;
  }
}

template <class T>
T round_below(double x, double high) {
  auto rounded = static_cast<T>(static_cast<compute_type<T>>(x));
  return static_cast<double>(static_cast<compute_type<T>>(rounded)) < high ? rounded
                                                                           : number_below(rounded);
}

void reference(const KernelContext& c) {
  const auto& o = c.as<RandomOptions>();
  dispatch_floating(c.output().dtype(), c.op, [&](auto t) {
    using T = decltype(t);
    T* y = c.output().as<T>();
    for_each_block(c.input(0), c.output().shape(), o.stream,
                   [&](std::int64_t first, std::int64_t count, const RandomBlock& block) {
                     auto words = block.words();
                     for (std::int64_t i = 0; i < count; ++i) {
                       double u = uniform_float(words[static_cast<std::size_t>(i)]);
                       y[first + i] = round_below<T>(o.a + (o.b - o.a) * u, o.b);
                     }
                   });
  });
}

}  // namespace

const OpDef random_uniform_op{.name = "random_uniform",
                              .shape = random_shape,
                              .gradient = no_gradient,
                              .reference = reference};

Tensor random_uniform(const Scope& s, const Shape& shape, double low, double high, DType dtype) {
  require(low < high && std::isfinite(high - low), "random_uniform: low must be below high, got ",
          low, " and ", high);
  RandomOptions options{.type = {shape, dtype}, .stream = s.next_stream(), .a = low, .b = high};
  return Tensor(apply(random_uniform_op, s, {random_state(s.graph())}, options));
}

}  // namespace belfry
