// The largest and smallest elements over axes.

#include "belfry/framework/backend/cuda/kernels/reduction/reduce.h"
#include "belfry/framework/ops/defs.h"

namespace belfry::cuda {
namespace {

const KernelRegistration registrations[] = {{max_op, make_reduction<Highest>},
                                            {min_op, make_reduction<Lowest>}};

}  // namespace
}  // namespace belfry::cuda
