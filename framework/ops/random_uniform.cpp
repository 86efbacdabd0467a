#include <cmath>

#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/draw.h"
#include "belfry/framework/ops/random.h"

namespace belfry {
namespace {

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
