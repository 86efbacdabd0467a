#pragma once
// A pool of past rows (Shrivastava et al., "Learning from simulated and unsupervised images through
// adversarial training", CVPR 2017, section 2.3): a discriminator that sees older generated data
// too does not forget what it has learnt of them.

#include <vector>

#include "belfry/models/gan/losses.h"

namespace belfry::gan {

/// Options of tensor_pool().
struct TensorPoolOptions {
  std::int64_t size = 50;    ///< rows that it holds, at least 1 (50: Zhu et al., CycleGAN)
  double probability = 0.5;  ///< that a row is exchanged for an older one, in [0, 1]
};

/// x [n, ...], of whose rows some are exchanged for rows of earlier steps, as CycleGAN's image pool
/// does. Until the pool has as many rows as it holds, x is returned as it is, and its rows are kept
/// while there is room. From then on each row, with the probability given, draws a place of the
/// pool, is returned as what was there before the step, and is kept in its place; else it is
/// returned as it is, and not kept. Of rows that draw one place in the same step all are returned
/// as what was there, and the last is kept. Gradients flow through the rows that are x's own. Of a
/// tower whose rows are not all finite none are kept in that step.
///
/// The pool is part of the model: statistics `rows0` [size, ...] and `count`, i64 [], the rows that
/// it has, under `s`; they are saved in checkpoints. They change with the updates of the parameters
/// that are nearest by name (EstimatorSpec::round), so `s` belongs below the network that reads the
/// result. All towers have the same pool: it takes the rows of all of them and draws by the global
/// row, so N towers do what one does; for this they sum the pool twice a step. While the first
/// tower has no rows, because its worker's own input has ended, the pool stays as it is. Another
/// call with the same scope, and the next micro-batch, go on where the one before ended. Only for
/// Mode::train.
///
/// Error: an option is out of range; x has no axis or is not of a floating or signed type.
Tensor tensor_pool(const Scope& s, Tensor x, const TensorPoolOptions& options = {});
/// The same of tensors whose rows belong together and are exchanged together, for example images
/// and what they were made from: `rows0`, `rows1`, ... Error: none; they differ in rows.
std::vector<Tensor> tensor_pool(const Scope& s, std::vector<Tensor> tensors,
                                const TensorPoolOptions& options = {});

/// `loss` whose discriminator is trained with generated data out of a pool, while the generator
/// sees its own. The pool is GanModel::scope / "discriminator" / "tensor_pool". Not for
/// discriminators that are told a label: an older row would meet the label of a newer one.
Loss with_tensor_pool(Loss loss, const TensorPoolOptions& options = {});

}  // namespace belfry::gan
