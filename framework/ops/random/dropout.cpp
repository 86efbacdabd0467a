#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/random/draw.h"
#include "belfry/framework/ops/random/random.h"

namespace belfry {
namespace {

std::vector<TensorType> shape_rule(const ShapeContext& c) {
  require(is_floating(c.inputs[0].dtype), c.op, ": expected a floating type, got ", c.inputs[0]);
  return {c.inputs[0]};
}

// The same stream, state and shape give the same mask again.
std::vector<Tensor> gradient(const GradContext& c) {
  return {apply1(dropout_op, {c.dy(), c.input(1)}, c.as<DropoutMask>()), {}};
}

void reference(const KernelContext& c) {
  const auto& o = c.as<DropoutMask>();
  dispatch_floating(c.output().dtype(), c.op, [&](auto t) {
    using T = decltype(t);
    using C = compute_type<T>;
    const T* x = c.input(0).as<const T>();
    T* y = c.output().as<T>();
    auto scale = static_cast<C>(1 / (1 - static_cast<double>(o.rate)));
    for_each_block(c.input(1), c.output().shape(), o.stream,
                   [&](std::int64_t first, std::int64_t count, const RandomBlock& block) {
                     auto words = block.words();
                     for (std::int64_t i = 0; i < count; ++i) {
                       bool kept = uniform_float(words[i]) >= o.rate;
                       y[first + i] =
                           static_cast<T>(kept ? static_cast<C>(x[first + i]) * scale : C(0));
                     }
                   });
  });
}

// The draw is of integers: a comparison and a product.
double flops(const Node& node) { return 2.0 * node.output().shape.elements(); }

}  // namespace

const OpDef dropout_op{.name = "dropout",
                       .shape = shape_rule,
                       .gradient = gradient,
                       .reference = reference,
                       .in_place = [](const Node&) { return std::vector<int>{0}; },
                       .flops = flops};

Tensor dropout(const Scope& s, Tensor x, DropoutOptions options) {
  require(options.rate >= 0 && options.rate < 1, "dropout: the rate must be in [0, 1), got ",
          options.rate);
  if (!options.training || options.rate == 0) return x;
  return Tensor(apply(dropout_op, s, {x, random_state(s.graph())},
                      DropoutMask{.rate = options.rate, .stream = s.next_stream()}));
}

}  // namespace belfry
