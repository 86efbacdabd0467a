#include "belfry/framework/ops/autocast.h"

#include <algorithm>
#include <array>

#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

template <std::size_t N>
bool is_one_of(const OpDef& op, const std::array<const OpDef*, N>& list) {
  return std::find(list.begin(), list.end(), &op) != list.end();
}

bool computes_low(const OpDef& op) {
  return is_one_of(op, std::array{&matmul_op, &conv2d_op, &conv3d_op, &conv2d_grad_input_op,
                                  &conv3d_grad_input_op});
}

bool computes_in_f32(const OpDef& op) {
  return is_one_of(op, std::array{&sum_op, &prod_op, &exp_op, &expm1_op, &log_op, &log1p_op,
                                  &pow_op, &sqrt_op, &rsqrt_op, &softmax_op, &log_softmax_op});
}

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
    if (computes_low(op)) {
      cast_floating(inputs, low);
    } else if ((computes_in_f32(op) && any(inputs, has_16_bits))
               || (differ && (op.elementwise || &op == &concat_op))) {
      cast_floating(inputs, DType::f32);
    }
  };
}

}  // namespace belfry
