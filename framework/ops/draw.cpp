#include "belfry/framework/ops/draw.h"

#include "belfry/framework/ops/random.h"

namespace belfry {

std::vector<TensorType> random_shape(const ShapeContext& c) {
  const auto& o = c.as<RandomOptions>();
  require(is_floating(o.type.dtype), c.op, ": expected a floating type, got ", o.type.dtype);
  return {o.type};
}

}  // namespace belfry
