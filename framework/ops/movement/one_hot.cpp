#include <algorithm>

#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise/number.h"
#include "belfry/framework/ops/movement/shape_ops.h"

namespace belfry {
namespace {

std::vector<TensorType> shape_rule(const ShapeContext& c) {
  const TensorType& indices = c.inputs[0];
  const auto& o = c.as<OneHotOptions>();
  require(!is_floating(indices.dtype) && indices.dtype != DType::boolean, c.op,
          ": indices must be whole numbers, got ", indices);
  require(o.depth >= 1, c.op, ": depth must be at least 1, got ", o.depth);
  for (double value : {o.on, o.off})
    require(holds(o.dtype, value), c.op, ": ", value, " is no value of ", o.dtype);
  std::vector<std::int64_t> sizes(indices.shape.begin(), indices.shape.end());
  sizes.push_back(o.depth);
  return {{Shape(sizes), o.dtype}};
}

void reference(const KernelContext& c) {
  const auto& o = c.as<OneHotOptions>();
  dispatch(c.output().dtype(), [&](auto t) {
    using T = decltype(t);
    auto value = [](double v) { return static_cast<T>(static_cast<compute_type<T>>(v)); };
    T* y = c.output().as<T>();
    std::fill_n(y, c.output().elements(), value(o.off));
    dispatch(c.input(0).dtype(), [&](auto index) {
      using Index = decltype(index);
      if constexpr (std::is_integral_v<Index>) {
        const Index* indices = c.input(0).as<const Index>();
        for (std::int64_t i = 0; i < c.input(0).elements(); ++i) {
          auto k = static_cast<std::int64_t>(indices[i]);
          if (k >= 0 && k < o.depth) y[i * o.depth + k] = value(o.on);
        }
      }
    });
  });
}

}  // namespace

const OpDef one_hot_op{
    .name = "one_hot", .shape = shape_rule, .gradient = no_gradient, .reference = reference};

Tensor one_hot(Tensor indices, OneHotOptions options) {
  return apply1(one_hot_op, {indices}, options);
}

}  // namespace belfry
