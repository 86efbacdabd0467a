#pragma once
// The steps of compile(). First the rewriting passes: each is a function from program to program,
// and they run in the order in which they stand here. Dead code goes in every one: what no root
// needs is not copied.

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "belfry/framework/compiler/plan.h"
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

/// A sum of pads that fill its result without a gap, as the gradient of split() is, becomes a
/// concat. A -0 stays one, to which the sum would have added 0.
Program join_pads(const Program& program);

/// Updates of tables that the step looks few rows up in change these rows alone, wherever that
/// gives the bits of the whole update: the rule leaves rows with a gradient of 0 as they are, and
/// nobody else reads the gradient, which then is nowhere in memory. For devices on which
/// reference kernels run (`on_host`), as not every device has kernels for it.
Program update_by_rows(const Program& program, const std::function<bool(int device)>& on_host);

/// add(conv2d, conv3d or matmul, bias [c]) and relu of the result become part of the convolution or
/// matmul.
Program fuse_bias_and_activation(const Program& program);

/// relu_grad and the sum of its elements that is a bias's gradient become one op on devices where
/// `on_host` is false.
Program sum_relu_gradients(const Program& program, const std::function<bool(int device)>& on_host);

/// Assignments of moving statistics, as layers::batch_norm writes them, become one effect on each
/// device where `on_host` is false: its kernel takes all of them at once.
Program merge_statistics_updates(const Program& program,
                                 const std::function<bool(int device)>& on_host);

/// batch_norm_train, then add of a residual, then relu become one op; so do their gradients. On
/// devices where `on_host` is false the gradient of one with a residual reads a bit an element in
/// place of 16.
Program fuse_batch_norm(const Program& program, const std::function<bool(int device)>& on_host);

/// add(conv2d_grad_input or conv3d_grad_input, another gradient of the same input) becomes part of
/// the gradient, which reads the other one in place of writing a sum to be read again. For devices
/// that are not `on_host`: the kernels of CPUs have no such sum.
Program add_to_input_gradients(const Program& program,
                               const std::function<bool(int device)>& on_host);

/// Chains of elementwise ops whose intermediate values have one reader become one op, casts to f32
/// in front of them and to 16 bits behind them included.
Program fuse_elementwise(const Program& program);

// ---- What comes before and behind them: recomputation, a program for each device, the order
// of its nodes, and kernels at planned offsets.

/// Programs that run side by side, each in its own order.
struct Partition {
  std::vector<Program> programs;
  std::vector<TowerPlan::Output> outputs;  ///< where those of the whole program are
};

/// Cuts `program` by its nodes' devices. A value that is read on another device is sent there once,
/// however many read it: right before its first reader there stands a receive. Inputs and constants
/// are everybody's; a variable is on its node's device, and so are the effects that write it. No
/// order of waiting can close a circle: each device keeps the order of the whole.
Partition partition(const Program& program, int devices);

/// Error unless all that the roots need is on a device below `devices`; it names the scope path.
void check_devices(std::span<const Tensor> outputs, std::span<Node* const> effects, int devices);

/// Values of the forward pass that backward reads, and that can be had again, are dropped after
/// their last forward reader; the ops that make them run once more before the first other reader,
/// as nodes of Phase::recompute, and give the same bits (Chen et al., "Training deep nets with
/// sublinear memory cost", 2016). Random numbers are computed again, too: an op's are the same in a
/// step, however often it runs. Statistics of a batch, what comes from another device or tower, and
/// the program's results are not. See RecomputeOptions for what is dropped. `done` says what was.
Program recompute(const Program& program, const RecomputeOptions& options, Recomputed& done);

inline bool writes_variables(const Node* node) { return node->op().mutates != nullptr; }

/// The nodes that the program needs, leaves among them, in the order of its graph, but for these.
/// A step reads variables as they were before it, so everything that writes them comes last. What
/// another device waits for is sent as soon as it is there. A reduction comes right behind the last
/// of its operands, and all in the order in which they were made: every tower starts the same ones
/// in the same order.
std::vector<const Node*> execution_order(const Program& program);

/// Chooses kernels, packs, lifetimes and offsets, for the programs of a tower's devices, each for
/// its device. See CompileOptions.
std::vector<std::shared_ptr<Plan>> build_plans(std::vector<Program> programs,
                                               std::span<Device* const> devices,
                                               const CompileOptions& options);

}  // namespace belfry
