#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/draw.h"
#include "belfry/framework/ops/random.h"

namespace belfry {
namespace {

void reference(const KernelContext& c) {
  const auto& o = c.as<RandomOptions>();
  dispatch_floating(c.output().dtype(), c.op, [&](auto t) {
    using T = decltype(t);
    T* y = c.output().as<T>();
    for_each_block(c.input(0), c.output().shape(), o.stream,
                   [&](std::int64_t first, std::int64_t count, const RandomBlock& block) {
                     auto z = normals(block.words());
                     for (std::int64_t i = 0; i < count; ++i)
                       y[first + i] = static_cast<T>(static_cast<compute_type<T>>(
                           o.a + o.b * z[static_cast<std::size_t>(i)]));
                   });
  });
}

}  // namespace

const OpDef random_normal_op{.name = "random_normal",
                             .shape = random_shape,
                             .gradient = no_gradient,
                             .reference = reference};

Tensor random_normal(const Scope& s, const Shape& shape, double mean, double standard_deviation,
                     DType dtype) {
  require(standard_deviation >= 0, "random_normal: the standard deviation must be at least 0, got ",
          standard_deviation);
  RandomOptions options{
      .type = {shape, dtype}, .stream = s.next_stream(), .a = mean, .b = standard_deviation};
  return Tensor(apply(random_normal_op, s, {random_state(s.graph())}, options));
}

}  // namespace belfry
