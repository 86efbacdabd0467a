// Sums and products over axes.

#include "belfry/framework/backend/cuda/kernels/reduction/reduce.h"
#include "belfry/framework/ops/defs.h"

namespace belfry::cuda {
namespace {

const KernelRegistration registrations[] = {{sum_op, make_reduction<Sum>},
                                            {prod_op, make_reduction<Product>}};

}  // namespace
}  // namespace belfry::cuda
