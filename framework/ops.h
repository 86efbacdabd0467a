#pragma once
// The parts of which ops, optimizers and passes over graphs are made, for those who write their
// own.

#include "belfry/framework/export/op_table.h"
#include "belfry/framework/framework.h"
#include "belfry/framework/graph/op_def.h"
#include "belfry/framework/graph/rewrite.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/update/updates.h"
#include "belfry/framework/runtime/check_op.h"
#include "belfry/framework/runtime/evaluate.h"
