#pragma once
// All ops.

#include "belfry/framework/ops/collective.h"
#include "belfry/framework/ops/elementwise/math.h"
#include "belfry/framework/ops/gradients.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "belfry/framework/ops/nn.h"
#include "belfry/framework/ops/random/random.h"
#include "belfry/framework/ops/reduction/reduce.h"
#include "belfry/framework/ops/sequence/sequences.h"
