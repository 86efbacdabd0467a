#pragma once
// The rewriting passes. Each is a function from program to program; compile() runs them in the
// order in which they stand here. Dead code goes in every one: what no root needs is not copied.

#include <functional>

#include "belfry/framework/graph/rewrite.h"

namespace belfry {

/// Nodes whose inputs are all constants become constants, computed by their reference kernels;
/// random ops stay, and so do results above 1 MiB, or above 16 KiB and larger than each input.
/// Arithmetic that changes no bit goes: multiplying and
/// dividing by 1, subtracting 0.
Program fold_constants(const Program& program);

/// A convolution of a concat of channels becomes the sum of convolutions of its parts, each with
/// its part of the kernel, and so do its gradients: neither the concat nor its gradient is ever in
/// memory. For f32 (16 bits would round each part's sum), parts of at least 8 channels, and a
/// concat of at least 1 MiB that nobody else reads. A gradient that is read by ranges of channels
/// is computed range by range in any type.
Program convolve_parts(const Program& program);

/// One of several nodes that compute the same (op, inputs, options) remains. Commutative operands
/// are put in order first.
Program merge_common_subexpressions(const Program& program);

/// Updates of tables that the step looks few rows up in change these rows alone, wherever that
/// gives the bits of the whole update: the rule leaves rows with a gradient of 0 as they are, and
/// nobody else reads the gradient, which then is nowhere in memory. For slots on whose device
/// reference kernels run (`on_host`), as not every device has kernels for it.
Program update_by_rows(const Program& program, const std::function<bool(int slot)>& on_host);

/// add(conv2d, conv3d or matmul, bias [c]) and relu of the result become part of the convolution or
/// matmul.
Program fuse_bias_and_activation(const Program& program);

/// batch_norm_train, then add of a residual, then relu become one op; so do their gradients.
Program fuse_batch_norm(const Program& program);

/// add(conv2d_grad_input or conv3d_grad_input, another gradient of the same input) becomes part of
/// the gradient, which reads the other one in place of writing a sum to be read again. For slots
/// that are not `on_host`: the kernels of CPUs have no such sum.
Program add_to_input_gradients(const Program& program,
                               const std::function<bool(int slot)>& on_host);

/// Chains of elementwise ops whose intermediate values have one reader become one op.
Program fuse_elementwise(const Program& program);

}  // namespace belfry
