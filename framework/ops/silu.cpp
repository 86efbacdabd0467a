#include "belfry/framework/ops/math.h"

namespace belfry {

Tensor silu(Tensor x) { return x * sigmoid(x); }

}  // namespace belfry
