#include "belfry/framework/ops/autocast.h"

#include <algorithm>

#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

void cast_floating(std::vector<Tensor>& inputs, DType dtype) {
  for (Tensor& t : inputs)
    if (t.defined() && is_floating(t.dtype()) && t.dtype() != dtype) t = cast(t, dtype);
}

bool any(const std::vector<Tensor>& inputs, bool (*holds)(DType)) {
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const Tensor& t) { return t.defined() && holds(t.dtype()); });
}

}  // namespace

Graph::InputRule autocast(DType low) {
  ensure(has_16_bits(low), "autocast to ", low);
  return [low](const OpDef& op, std::vector<Tensor>& inputs) {
    if (any(inputs, [](DType d) { return d == DType::f64; })) return;
    bool differ = any(inputs, has_16_bits) && any(inputs, [](DType d) { return d == DType::f32; });
    if (op.autocast == Autocast::low) {
      cast_floating(inputs, low);
    } else if ((op.autocast == Autocast::f32 && any(inputs, has_16_bits))
               || (op.autocast == Autocast::widest && differ)) {
      cast_floating(inputs, DType::f32);
    }
  };
}

}  // namespace belfry
