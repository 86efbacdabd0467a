#include "belfry/framework/ops/math.h"

namespace belfry {

Tensor square(Tensor x) { return mul(x, x); }

}  // namespace belfry
