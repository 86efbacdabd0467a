#include "random_rounding.h"

#include <optional>
#include <set>
#include <string_view>

#include "belfry/framework/ops/ops.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry::random_models {
namespace {

// Ops that round nothing, or jump.
bool is_exact(std::string_view op) {
  static const std::set<std::string_view> names = {
      "reshape", "transpose", "slice",  "concat",        "gather",     "pad",        "broadcast_to",
      "where",   "max",       "min",    "stop_gradient", "floor",      "sign",       "equal",
      "less",    "greater",   "argmax", "greater_equal", "less_equal", "not_equal",  "argmin",
      "cast",    "max_pool",  "assign", "minimum",       "maximum",    "check_range"};
  return names.contains(op);
}

// The node where each element of its operands that was computed is off by a fraction, up or down.
std::vector<Tensor> rounded(const Node& old, std::vector<Tensor> inputs, double fraction,
                            PhiloxStream& random) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_floating(inputs[i].dtype()) || is_leaf(old.inputs()[i].node())) continue;
    Array factors(inputs[i].shape(), DType::f64);
    for (double& f : factors.span<double>()) f = 1 + (random.below(2) ? fraction : -fraction);
    inputs[i] = inputs[i] * constant(inputs[i].graph(), factors.cast(inputs[i].dtype()));
  }
  return outputs_of(apply(old.op(), inputs, old.options()));
}

}  // namespace

Program rounded(const std::vector<Tensor>& outputs, double fraction, std::uint64_t seed) {
  PhiloxStream random(philox_key(seed, "rounding"));
  return rewrite(outputs, {}, [&](const Node& old, Rewriting& to) {
    std::optional<std::vector<Tensor>> out;
    if (is_leaf(old) || is_exact(old.op().name)) return out;
    out = rounded(old, to.inputs(old), fraction, random);
    std::vector<Tensor> others = rounded(old, to.inputs(old), fraction, random);
    for (std::size_t i = 0; i < out->size(); ++i) {
      Tensor& y = (*out)[i];
      if (!is_floating(y.dtype())) continue;
      Array first(y.shape(), DType::f64);
      for (double& f : first.span<double>()) f = static_cast<double>(random.below(2));
      y = where(constant(y.graph(), first.cast(DType::boolean)), y, others[i]);
    }
    return out;
  });
}

}  // namespace belfry::random_models
