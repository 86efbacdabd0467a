#pragma once
// All ops.

#include "belfry/framework/ops/collective.h"
#include "belfry/framework/ops/ctc.h"
#include "belfry/framework/ops/gradients.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/nn.h"
#include "belfry/framework/ops/random.h"
#include "belfry/framework/ops/reduce.h"
#include "belfry/framework/ops/sequences.h"
#include "belfry/framework/ops/shape_ops.h"
