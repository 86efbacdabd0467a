#include "belfry/framework/ops/gather.h"
#include "belfry/framework/ops/nn.h"

namespace belfry {
namespace {

std::vector<TensorType> shape_rule(const ShapeContext& c) {
  require(c.inputs[0].shape.rank() == 2, c.op, ": the table must be [rows, width], got ",
          c.inputs[0]);
  return gather_shape(c);
}

}  // namespace

const OpDef embedding_lookup_op{.name = "embedding_lookup",
                                .shape = shape_rule,
                                .gradient = gather_gradient,
                                .reference = gather_reference};

Tensor embedding_lookup(Tensor table, Tensor ids) {
  return apply1(embedding_lookup_op, {table, ids}, AxisOptions{0});
}

}  // namespace belfry
