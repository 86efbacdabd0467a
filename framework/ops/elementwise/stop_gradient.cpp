#include <cstring>

#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise/elementwise.h"
#include "belfry/framework/ops/elementwise/math.h"

namespace belfry {
namespace {

void reference(const KernelContext& c) {
  std::memmove(c.output().data, c.input(0).data, static_cast<std::size_t>(c.output().type.bytes()));
}

}  // namespace

const OpDef stop_gradient_op{.name = "stop_gradient",
                             .shape = same_shape,
                             .gradient = no_gradient,
                             .reference = reference,
                             .view = true,
                             .onnx = "Identity"};

Tensor stop_gradient(Tensor x) { return apply1(stop_gradient_op, {x}); }

}  // namespace belfry
