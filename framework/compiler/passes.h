#pragma once
// The rewriting passes. Each is a function from program to program; compile() runs them in the
// order in which they stand here. Dead code goes in every one: what no root needs is not copied.

#include "belfry/framework/graph/rewrite.h"

namespace belfry {

/// Nodes whose inputs are all constants become constants, computed by their reference kernels;
/// random ops and results above 1 MiB stay. Arithmetic that changes no bit goes: multiplying and
/// dividing by 1, subtracting 0.
Program fold_constants(const Program& program);

/// Of nodes that compute the same (op, inputs, options) one remains. Commutative operands are put
/// in order first.
Program merge_common_subexpressions(const Program& program);

/// add(conv2d, conv3d or matmul, bias [c]) and relu of the result become part of the convolution or
/// matmul.
Program fuse_bias_and_activation(const Program& program);

/// batch_norm_train, then add of a residual, then relu become one op; so do their gradients.
Program fuse_batch_norm(const Program& program);

/// Chains of elementwise ops whose intermediate values have one reader become one op.
Program fuse_elementwise(const Program& program);

}  // namespace belfry
